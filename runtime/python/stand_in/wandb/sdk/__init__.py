"""Places inside of wandb that libraries import."""
