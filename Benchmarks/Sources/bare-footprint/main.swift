import Footprint

// A Swift program that does nothing but say how much memory it takes.
print(footprint())
