/** Vulnerabilities of agents, which releases before 4.8 find. */
import { inventoryRows } from '../../data/inventory/rows.ts'
import { randomFor } from '../../data/random.ts'
import type { SimAgent } from '../../model.ts'
import { affected } from '../answers.ts'
import { collectRows, cut, type Item, type Table } from '../collection.ts'
import { V4Error } from '../errors.ts'
import { type Asked, type Call, NO_TEXTS } from '../model.ts'
import { filtersOf } from '../parameters.ts'
import { isoOf } from '../rows.ts'
import { ofAgent } from './agent-table.ts'
import { machineWithDatabase } from './inventory.ts'

const table: Table = {
  kind: 'database',
  fields: [
    ...['name', 'version', 'architecture', 'cve', 'detection_time', 'severity', 'cvss2_score', 'cvss3_score', 'type'],
    ...['status', 'external_references', 'condition', 'title', 'published', 'updated'],
  ],
  times: ['detection_time'],
}

const NEVER = '1970-01-01T00:00:00+00:00'
const SEVERITIES = ['Low', 'Medium', 'High', 'Critical'] as const

/** Some packages of each agent have a vulnerability; the same ones until the package changes. */
function rowsOf({ world, node }: Asked, agent: SimAgent): Item[] {
  const machine = machineWithDatabase(world, node, agent)
  if (machine === undefined || world.hasFeeds === false) return []
  return inventoryRows(world.seed, machine, 'packages').flatMap((row) => {
    const { name, version, architecture } = row as Readonly<Record<string, string>>
    const random = randomFor(world.seed, 'vulnerability', name ?? '', version ?? '')
    if (!random.chance(0.15)) return []
    const cve = `CVE-20${random.int(18, 23)}-${random.int(1000, 29_999)}`
    const at = random.int(0, SEVERITIES.length - 1)
    return {
      name,
      version,
      architecture,
      cve,
      detection_time: isoOf(String(row.scan_time)),
      severity: SEVERITIES[at],
      cvss2_score: 2 + 2 * at,
      cvss3_score: 3.1 + 2 * at,
      type: 'PACKAGE',
      status: 'VALID',
      external_references: [`https://nvd.nist.gov/vuln/detail/${cve}`],
      condition: `Package less than ${version}.1`,
      title: `${cve} affects ${name}`,
      published: '2023-01-10',
      updated: '2023-02-01',
    }
  })
}

const list = ofAgent((asked, agent) => {
  const filters = filtersOf(asked.query)
  const rows = rowsOf(asked, agent).filter((row) =>
    filters.every(([name, value]) => String(row[name] ?? '').toLowerCase() === value.toLowerCase()),
  )
  const { items, total } = collectRows(rows, table, asked.query, asked.world.now())
  return affected(items, { total })
})

const lastScan = ofAgent((asked, agent) => {
  const [row] = rowsOf(asked, agent)
  const time = row?.detection_time ?? NEVER
  return affected([{ last_full_scan: time, last_partial_scan: time }])
})

/** Counts the rows with each value of a field, the most frequent values first. */
const summary = ofAgent((asked, agent) => {
  const field = asked.params.field ?? ''
  const counts = new Map<string, number>()
  for (const row of rowsOf(asked, agent)) {
    const value = String(row[field])
    counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a)
  return { kind: 'data', data: { [field]: Object.fromEntries(cut(sorted, asked.query)) } }
})

const reads = [{ action: 'vulnerability:read', type: 'agent:id', named: { in: 'path', as: 'agent_id' } }] as const

export const vulnerabilityCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/vulnerability/{agent_id}',
    runs: 'owner',
    needs: reads,
    texts: {
      all: 'All selected vulnerabilities were returned',
      some: 'Some vulnerabilities were not returned',
      none: 'No vulnerabilities were returned',
    },
    run: list,
  },
  {
    method: 'GET',
    path: '/vulnerability/{agent_id}/last_scan',
    runs: 'owner',
    needs: reads,
    texts: {
      all: 'Last vulnerability scans of the agent were returned',
      some: '',
      none: 'No last vulnerability scan of the agent was returned',
    },
    run: lastScan,
  },
  {
    method: 'GET',
    path: '/vulnerability/{agent_id}/summary/{field}',
    runs: 'owner',
    needs: reads,
    texts: NO_TEXTS,
    run: summary,
  },
  {
    method: 'PUT',
    path: '/vulnerability',
    runs: 'nodes',
    needs: [
      { action: 'cluster:read', type: 'node:id', named: 'node' },
      { action: 'vulnerability:run', type: '*:*', named: 'whole' },
    ],
    texts: {
      all: 'Vulnerability detector scans were requested',
      some: 'Some vulnerability detector scans were not requested',
      none: 'No vulnerability detector scans were requested',
    },
    run: ({ world, node }) =>
      world.hasFeeds === false
        ? affected([], { failed: [{ id: node.name, error: new V4Error(8011) }] })
        : affected([node.name]),
  },
]
