/** How values and rows of the v4 layout look in the v3 layout: written from measurements, not from the edge. */

export type Row = Readonly<Record<string, unknown>>

export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `2026-11-22T00:17:35+00:00` and `…Z` → `2026-11-22 00:17:35`. A fraction stays, other texts too. */
export function v3Date(value: unknown, separator = '-'): unknown {
  if (typeof value !== 'string') return value
  const parts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)(?:Z|\+00:00)$/.exec(value)
  if (parts === null) return value
  const [, year, month, day, time] = parts
  return `${year}${separator}${month}${separator}${day} ${time}`
}

const STATUS: Readonly<Record<string, string>> = {
  active: 'Active',
  pending: 'Pending',
  disconnected: 'Disconnected',
  never_connected: 'Never connected',
}
export const v3Status = (value: unknown) => STATUS[String(value)] ?? value

const SAME_DAEMONS = ['wazuh-clusterd', 'wazuh-modulesd', 'wazuh-db']
/** `wazuh-remoted` → `ossec-remoted`, also with a part (`wazuh-modulesd:oscap`). */
export function v3Daemon(name: string): string {
  const [daemon = '', ...rest] = name.split(':')
  const v3 = SAME_DAEMONS.includes(daemon) ? daemon : daemon.replace(/^wazuh-/, 'ossec-')
  return [v3, ...rest].join(':')
}

/** `rw-r--r--` → `100644`. */
export function v3Permissions(value: unknown): unknown {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string' || !/^[r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-]$/.test(value)) return value
  const digit = (of: string) => (of[0] === 'r' ? 4 : 0) + (of[1] === 'w' ? 2 : 0) + (/[xst]/.test(of[2] ?? '') ? 1 : 0)
  return `100${[0, 3, 6].map((at) => digit(value.slice(at, at + 3))).join('')}`
}

type Change = (value: unknown) => unknown
export type RowChange = (row: Row) => Row

/** `names`: v4 → v3; `values` by v4 name, with dots for nested fields; `dropped` by v4 name. */
export function rowChange({
  names = {},
  values = {},
  dropped = [],
}: {
  readonly names?: Readonly<Record<string, string>>
  readonly values?: Readonly<Record<string, Change>>
  readonly dropped?: readonly string[]
}): RowChange {
  const change = (row: Row, prefix: string): Row =>
    Object.fromEntries(
      Object.entries(row).flatMap(([name, value]) => {
        const path = prefix + name
        if (dropped.includes(path)) return []
        const converted = values[path]?.(value) ?? (isRow(value) ? change(value, `${path}.`) : value)
        return [[names[path] ?? name, converted] as const]
      }),
    )
  return (row) => change(row, '')
}

export const agentRow = rowChange({
  values: { lastKeepAlive: v3Date, dateAdd: v3Date, status: v3Status },
  dropped: ['group_config_status', 'disconnection_time'],
})

/** Options of rules and decoders are objects with a pattern; the v3 layout has its text. */
const details: Change = (value) =>
  isRow(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, option]) => [
          name,
          isRow(option) && 'pattern' in option ? option.pattern : option,
        ]),
      )
    : value

export const rulesetRow = rowChange({
  names: { filename: 'file', relative_dirname: 'path', pci_dss: 'pci', nist_800_53: 'nist-800-53' },
  values: { details },
  dropped: ['tsc', 'mitre'],
})
export const listRow: RowChange = ({ relative_dirname, filename, ...rest }) => ({
  path: `${relative_dirname}/${filename}`,
  ...rest,
})
export const listFileRow = rowChange({ names: { relative_dirname: 'path', filename: 'name' } })
export const rootcheckRow = rowChange({
  names: { log: 'event', date_first: 'oldDay', date_last: 'readDay', pci_dss: 'pci' },
  values: { date_first: (value) => v3Date(value), date_last: (value) => v3Date(value) },
})
export const syscheckRow = rowChange({
  values: {
    date: (value) => v3Date(value),
    mtime: (value) => v3Date(value),
    perm: v3Permissions,
    type: (value) => (value === 'registry_key' ? 'registry' : value),
  },
  dropped: ['changes', 'attributes'],
})
export const scaRow = rowChange({
  values: { start_scan: (value) => v3Date(value), end_scan: (value) => v3Date(value) },
})
/** A check that is not applicable has a status and no result in the v3 layout. */
export const scaCheckRow: RowChange = (row) =>
  row.result === 'not applicable' ? { ...row, result: '', status: 'Not applicable' } : row
export const logRow = rowChange({
  values: { timestamp: (value) => v3Date(value), tag: (value) => v3Daemon(String(value)) },
})
const inventory = {
  values: { 'scan.time': (value: unknown) => v3Date(value, '/') },
  // Of packages: only the v4 layout has them.
  dropped: ['location', 'install_time'],
}
export const inventoryRow = rowChange({ ...inventory, dropped: [...inventory.dropped, 'agent_id'] })
export const allAgentsRow = rowChange(inventory)
/** The time of a CIS-CAT scan is the text that the agent sent. */
export const ciscatRow = rowChange({ dropped: ['agent_id'] })
/** A scan that has not been made, or has not ended, has `ND`. */
export const lastScanRow: RowChange = ({ start, end }) => ({
  start: start === null ? 'ND' : v3Date(start),
  end: end === null ? 'ND' : v3Date(end),
})
/** Without the counters that only the v4 layout has. */
export const countersRow: RowChange = (row) =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !/^(?:dbsync_|upgrade_|sent_bytes)/.test(name)))

/** Keeps the named fields, with dots for nested ones, as the v3 `select` does. */
export function selected(row: Row, names: readonly string[]): Row {
  const cut = (of: Row, prefix: string): Row =>
    Object.fromEntries(
      Object.entries(of).flatMap(([name, value]) => {
        const path = prefix + name
        if (names.includes(path)) return [[name, value] as const]
        if (!isRow(value)) return []
        const inner = cut(value, `${path}.`)
        return Object.keys(inner).length === 0 ? [] : [[name, inner] as const]
      }),
    )
  return cut(row, '')
}

/** A field that groups agents has the word `unknown` where agents lack it; node names are stored so. */
export const distinctRow: RowChange = (row) => {
  const known = (value: unknown, name: string): unknown => {
    if (name === 'node_name') return value
    if (Array.isArray(value)) return value.length === 1 && value[0] === 'unknown' ? undefined : value
    if (isRow(value)) {
      const inner = withoutUndefined(
        Object.fromEntries(Object.entries(value).map(([key, part]) => [key, known(part, key)])),
      )
      return Object.keys(inner).length === 0 ? undefined : inner
    }
    return value === 'unknown' ? undefined : value
  }
  return withoutUndefined(
    agentRow(Object.fromEntries(Object.entries(row).map(([name, value]) => [name, known(value, name)]))),
  )
}

function withoutUndefined(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))
}
