"""``python -m systolith.sim.speed``: times of generation, build and simulation, in one run."""
from systolith.sim.progress import Progress
from systolith.sim.speed.measure import generator_table, print_speed, simulation_table

if __name__ == "__main__":
    progress = Progress()
    print_speed(generator_table(progress), simulation_table(progress))
