"""Interfaces that Determined calls experimental."""
