FROM node:24-bookworm-slim AS build
WORKDIR /edge
COPY package.json package-lock.json .npmrc ./
COPY packages/console/package.json ./packages/console/
COPY packages/mcp/package.json ./packages/mcp/
COPY packages/reference/package.json ./packages/reference/
COPY packages/simulator/package.json ./packages/simulator/
COPY packages/tools/package.json ./packages/tools/
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY src ./src
COPY packages ./packages
# The commit of the sources, such as `--build-arg COMMIT=$(git rev-parse HEAD)`.
ARG COMMIT
# The simulator serves only the demo and the tests. The packages of the repository are links.
RUN npm run build && rm -r dist/simulator && npm prune --omit=dev --ignore-scripts && rm -r node_modules/@manager-edge

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="manager-edge" org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.version="0.2.0"
ENV NODE_ENV=production
RUN groupadd --system --gid 10001 edge && useradd --system --uid 10001 --gid edge --no-create-home edge
WORKDIR /edge
COPY --from=build /edge/node_modules ./node_modules
COPY --from=build /edge/dist ./dist
COPY package.json LICENSE ./
COPY config ./config
ARG COMMIT
LABEL org.opencontainers.image.revision=$COMMIT
# The process writes nothing to its file system: start the container with --read-only.
USER 10001:10001
EXPOSE 55000 55001
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 CMD ["node", "config/healthcheck.mjs"]
ENTRYPOINT ["node", "--disable-proto=throw", "dist/cli.js"]
CMD ["start", "--config", "/etc/edge/edge.yaml"]
