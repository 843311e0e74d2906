"""The demo: real flights land in waves and become a healthy Iceberg table. ``make demo`` runs it."""
