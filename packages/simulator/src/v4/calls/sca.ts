/** Security configuration assessment of agents. */
import { scaChecks, scaPolicies } from '../../data/scans/assessment.ts'
import { scanStart, scanStateOf } from '../../data/scans/state.ts'
import type { SimAgent } from '../../model.ts'
import { type Answer, affected } from '../answers.ts'
import { collectRows, type Item, type Table } from '../collection.ts'
import type { Asked, Call } from '../model.ts'
import { isoOf } from '../rows.ts'
import { ofAgent } from './agent-table.ts'
import { machineWithDatabase } from './inventory.ts'

const policyTable: Table = {
  kind: 'database',
  fields: [
    ...['policy_id', 'name', 'description', 'references', 'pass', 'fail', 'score', 'invalid', 'total_checks'],
    ...['hash_file', 'end_scan', 'start_scan'],
  ],
  times: ['start_scan', 'end_scan'],
  keys: ['policy_id'],
  order: '-policy_id',
}

const checkTable: Table = {
  kind: 'database',
  fields: [
    ...['rationale', 'registry', 'command', 'condition', 'description', 'result', 'remediation', 'rules.rule'],
    ...['rules.type', 'compliance.key', 'compliance.value'],
    ...['title', 'references', 'reason', 'id', 'directory', 'file', 'policy_id', 'process'],
  ],
  order: '+id',
}

const policyFilters = ['name', 'description', 'references'] as const
const checkFilters = [
  ...['title', 'description', 'rationale', 'remediation', 'command', 'reason', 'file', 'process', 'directory'],
  ...['registry', 'references', 'result', 'condition'],
]

function page(rows: readonly Item[], filters: readonly string[], table: Table, { query, world }: Asked): Answer {
  const found = rows.filter((row) =>
    filters.every((name) => (query[name] ?? String(row[name])).toLowerCase() === String(row[name]).toLowerCase()),
  )
  const { items, total } = collectRows(found, table, query, world.now())
  return affected(items, { total })
}

function policies(asked: Asked, agent: SimAgent): Answer {
  const { world, node } = asked
  const machine = machineWithDatabase(world, node, agent)
  const rows = machine === undefined ? [] : scaPolicies(machine, scanStart(world, machine, scanStateOf(node, agent)))
  const v4 = rows.map(({ start_scan, end_scan, ...row }) => {
    return { ...row, start_scan: isoOf(String(start_scan)), end_scan: isoOf(String(end_scan)) }
  })
  return page(v4, policyFilters, policyTable, asked)
}

/** A check that does not apply has this result, and no status. */
const NOT_APPLICABLE = 'not applicable'

function checks(asked: Asked, agent: SimAgent): Answer {
  const machine = machineWithDatabase(asked.world, asked.node, agent)
  const rows = machine === undefined ? [] : scaChecks(machine, asked.params.policy_id ?? '')
  const v4 = rows.map(({ status: _, result, reason = '', ...row }) => {
    return { ...row, condition: 'all', reason, result: result === '' ? NOT_APPLICABLE : result }
  })
  return page(v4, checkFilters, checkTable, asked)
}

const reads = { action: 'sca:read', type: 'agent:id', named: { in: 'path', as: 'agent_id' } } as const

export const scaCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/sca/{agent_id}',
    runs: 'owner',
    needs: [reads],
    texts: {
      all: 'All selected sca information was returned',
      some: 'Some sca information was not returned',
      none: 'No sca information was returned',
    },
    run: ofAgent(policies),
  },
  {
    method: 'GET',
    path: '/sca/{agent_id}/checks/{policy_id}',
    runs: 'owner',
    needs: [reads],
    texts: {
      all: 'All selected sca/policy information was returned',
      some: 'Some sca/policy information was not returned',
      none: 'No sca/policy information was returned',
    },
    run: ofAgent(checks),
  },
]
