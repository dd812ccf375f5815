"""Tests of the mesh: each stage by itself, then routers and meshes of several sizes."""
