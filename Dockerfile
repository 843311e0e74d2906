# One image for all services of docker-compose.yml.
FROM python:3.11-slim-bookworm

RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --requirement requirements.lock
COPY . .
RUN pip install --no-cache-dir --no-deps --editable .

ENV DAGSTER_HOME=/app/.dagster_home
RUN mkdir -p "$DAGSTER_HOME" && cp dagster.yaml "$DAGSTER_HOME/"
