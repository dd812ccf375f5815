"""The mesh: a network of routers that carries remote writes and signals between cores."""
