"""Modules inside of wandb that libraries import."""
