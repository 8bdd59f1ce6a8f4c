/** Settings of earlier releases. A configuration with one of them is refused, and the fault names what to use instead. */

/** Path of a setting, or of a group for all its members → what to use instead, as an imperative. */
export const goneSettings: Readonly<Record<string, string>> = {
  'listen.limits.query': 'write listen.limits.queryParameters',
  'listen.limits.fields': 'write listen.limits.body',
  'listen.processes': 'remove it, and start one replica per core (systemd: manager-edge@.service)',
  'listen.drain.notice': 'write listen.drain.delay',
  'operations.webhook': 'remove it; Alertmanager sends notices, with the alert rules in config/prometheus',
  'cluster.limits.perCaller': 'remove it; clients of a node take turns in the time that their calls take',
  'cache.onLostStore': 'write cache.writesWithoutRedis (sendAndRiskStaleReads for delay)',
  'cache.onUnreachableStore': 'write cache.writesWithoutRedis (sendAndRiskStaleReads for delay)',
  'cache.nearBytes': 'write cache.localBytes',
  'cache.defaultDuration': 'write cache.defaultTtl',
  'cache.durations': 'write cache.ttl',
  'cache.syncPeriods': 'write cache.replicationLag',
  'cache.compressFrom': 'write cache.compressionMinBytes',
  'cache.verify': 'write cache.divergenceCheck (sampleRatio for share, maxPerSecond for perSecond)',
  'access.ownRoles': 'write access.customRoles',
  'access.limits.requests': 'write access.limits.requestsPerSecond',
  'traces.share': 'write traces.sampleRatio',
  'traces.perSecond': 'write traces.maxPerSecond',
  'traces.exemplars': 'find a slow request in the log, whose line has the traceId of a sampled trace',
}

/** Returns the fault of the first setting of the table that `matches`; `undefined`: there is none. */
export function describeGone(matches: (name: string) => boolean): string | undefined {
  const row = Object.entries(goneSettings).find(([name]) => matches(name))
  return row && `is gone; ${row[1]}`
}
