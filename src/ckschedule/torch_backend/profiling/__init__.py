"""A torch model's cost: finding its stages, counting their bytes, taking their time."""
