"""Measurements of a real stack on this machine, as ratios to something bare in the same run."""
