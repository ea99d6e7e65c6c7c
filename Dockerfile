# Builds with all dependencies, runs with production dependencies. `.ci/run` runs the same steps without a container engine.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig*.json ./
COPY src ./src
COPY tools ./tools
RUN npm run build:image

FROM node:24-bookworm-slim
ENV NODE_ENV=production
# Without this, V8 enlarges the main thread's young generation to more than 100 MiB and is no faster.
ENV NODE_OPTIONS=--max-semi-space-size=8
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts
COPY --from=build /app/dist ./dist
COPY --from=build /app/openapi.json ./
COPY db ./db
COPY assets ./assets
# The default DATABASE_URL finds the SQLite file on this volume. Setting DATABASE_URL here would conflict with
# DATABASE_URL_FILE. The root file system may be read-only.
RUN mkdir /data && chown node:node /data && ln -s /data data
VOLUME /data
USER node
# SQLite's temporary files (large sorts, indexes built by migrations) need a writable folder on a read-only root file
# system.
ENV SQLITE_TMPDIR=/data
ENV API_HOST=0.0.0.0
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.RECEIVER_PORT || 8080) + '/readyz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js", "serve"]
