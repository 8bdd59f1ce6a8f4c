/** The order of rows in the v3 layout where the client sends no sort, as the sort of the v4 layout (measured). */
const orders: readonly (readonly [RegExp, string])[] = [
  [/^GET \/rootcheck\/:agent_id$/, '-date_last'],
  [/^GET \/syscheck\/:agent_id$/, 'mtime'],
  [/^GET \/sca\/:agent_id$/, '-policy_id'],
  [/^GET \/sca\/:agent_id\/checks/, 'id'],
  [/^GET \/.*\/hotfixes$/, 'scan_id'],
  [/^GET \/(?:syscollector|ciscat|experimental)\//, 'scan.id'],
]

export function v3OrderOf(endpoint: string): string | undefined {
  return orders.find(([pattern]) => pattern.test(endpoint))?.[1]
}
