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

# Once, when the image is made: containers need no Maven Central. The metastore takes PostgreSQL's driver from here, too.
RUN python -c "from iceberg_assets.profiles import load_profile; from iceberg_assets.spark.jars import fetch_jars; \
    [fetch_jars(load_profile(name)) for name in ('local', 'docker', 'jdbc')]"

ENV DAGSTER_HOME=/app/.dagster_home
RUN mkdir -p "$DAGSTER_HOME" && cp dagster.yaml "$DAGSTER_HOME/"
