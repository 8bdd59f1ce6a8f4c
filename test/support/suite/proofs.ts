/**
 * The part of the suite that `npm run test:proofs` runs, and `npm test` does not: the long forms, which take much time, and fail
 * seldom. Continuous integration runs both. test/README.md names the smallest form of each family, which `npm test` runs.
 */

/** Beginnings of paths: a folder, and the beginnings of names in it. */
const PROOFS: Readonly<Record<string, string>> = {
  // The console and the reference pages in a browser.
  'test/system/console/': '',
  // Faults under load, with replicas as processes, and of Redis with sentinels or as a cluster. Planted faults.
  'test/faults/coherence/': 'replicas.',
  'test/faults/protocol/': '',
  'test/faults/': 'redis-commands. redis-failover. redis-single-fetch. redis-slots. redis. shared-slots.',
  'test/faults/suite/': 'clock. departures. framework. master. nodes. overload. planted. rolling-restart. writes.',
  'test/system/readiness/': 'every-redis-state. haproxy-outages. haproxy-stalled.',
  'test/system/snapshots/one-answer/': '',
  'test/unit/http/framing/': '',
  'test/unit/http/': 'large-fields.',
  // All endpoints, all recorded exchanges or all settings once more. `npm test` has four passes over all endpoints:
  // test/contract/both/service, v4/replay, v4-contract/passed-on and replay/recorded-responses.
  'packages/simulator/test/v4/': 'recorded-contract.',
  'test/contract/':
    'both/passthrough. v4/messages. v4/releases. replay/stored-responses. responses/schemas. simulator/shapes.',
  'test/system/':
    'console-api/miss-stages. journeys/explain-every-endpoint. journeys/outage-every-read. journeys/without-redis-every-read. v4/same-world/ reload/every-setting.',
  'test/system/departures/': 'many-rounds.',
  'test/system/joined/': 'price-of-every-read',
  'test/system/v4-contract/': 'lost-workers. rights/matrix.',
  // Sizes: time and memory with many entries, rows, users or URLs. Stores behind sentinels, a cluster, and links with faults.
  'test/system/attacks/': 'largest-bodies.',
  'test/system/journeys/': 'group-write-at-size.',
  'test/unit/access/': 'bounded-memory.',
  'test/unit/cache/': 'index-at-size. listing-turns. snapshots/joined-turns. snapshots/large. snapshots/turns.',
  'test/unit/cache/stores/': 'cluster. distinct-urls. failover. link-faults.',
  'test/unit/join/': 'group-write-at-size. merge-rules-at-size.',
  // Every regular expression against a check of its complexity. The own tests of the benchmarks and of the workers of the suite.
  'test/unit/': 'regular-expressions. bench/ suite/pool.',
  'test/system/process/': 'benchmark-cases.',
  // Packages and generated clients.
  'packages/clients/test/': 'clients.',
  'test/system/api-client/': 'client.',
  'test/system/packaging/': 'image-run. installation. node-versions. npm. packages. production. sbom.',
}

const BEGINNINGS = Object.entries(PROOFS).flatMap(([folder, names]) => names.split(' ').map((name) => folder + name))

export function isProof(file: string): boolean {
  return BEGINNINGS.some((path) => file.startsWith(path))
}

/** Throws an error if no file begins with a path of the table. */
export function requireProofs(files: readonly string[]): void {
  const unused = BEGINNINGS.find((path) => !files.some((file) => file.startsWith(path)))
  if (unused !== undefined) throw new Error(`no test begins with ${unused}: change PROOFS`)
}
