/** A simulated cluster with the agents, groups and users of the recorded one. */
import type { ContractExchange } from '../../../../../test/contract/v4-contract/exchanges.ts'
import { type Simulator, startSimulator } from '../../../src/index.ts'
import type { SimAgent } from '../../../src/model.ts'
import { parseBody } from '../ask.ts'

export const PASSWORD = 'Recorded-Pa55word'

interface Row {
  readonly id: string
  readonly name: string
  readonly ip: string
  readonly registerIP: string
  readonly status: string
  readonly dateAdd: string
  readonly lastKeepAlive?: string
  readonly version?: string
  readonly node_name?: string
  readonly group?: readonly string[]
  readonly os?: Readonly<Record<string, string>>
  readonly configSum?: string
  readonly mergedSum?: string
}

export interface RecordedCluster {
  readonly version: string
  readonly workers: number
  /** Milliseconds for which agents that are disconnected have been silent. */
  readonly silence: number
}

const RECORDED: RecordedCluster = { version: '4.5.4', workers: 2, silence: 86_400_000 }

/** `now`: the time of the cluster. */
export async function startRecordedCluster(
  exchanges: readonly ContractExchange[],
  now: () => Date,
  { version, workers, silence } = RECORDED,
): Promise<Simulator> {
  const rowsOf = (path: string) => {
    const found = exchanges.find(
      ({ request, user }) => request.path === path && request.method === 'GET' && user === 'administrator',
    )
    const items: readonly unknown[] = parseBody(found?.response.body ?? '')?.data?.affected_items ?? []
    return items as readonly Row[]
  }
  const recorded = rowsOf('/agents')
  const simulator = await startSimulator({
    layout: 'v4',
    version,
    agents: 0,
    workers,
    seed: 5,
    now,
    hasFeeds: false,
    reported: reportedRows(exchanges),
    username: 'wazuh',
    password: PASSWORD,
    v4: { executionLimit: 50 },
  })
  const { world } = simulator
  const shared = world.groups.get('default')
  world.groups.clear()
  for (const { name } of rowsOf('/groups')) {
    const files = new Map([['agent.conf', CONF]])
    if (name === 'default') for (const [file, text] of shared?.files ?? []) files.set(file, text)
    world.groups.set(name, { name, files })
  }
  const manager = world.agents.get('000')
  const system = recorded.find(({ id }) => id === '000')?.os
  if (manager !== undefined && system !== undefined) manager.os = system
  const [master] = world.nodes
  for (const row of recorded) {
    const node = row.node_name ?? master?.name ?? ''
    if (row.id !== '000') world.agents.set(row.id, { ...toAgent(row, world.now(), silence), node })
  }
  return simulator
}

/** Returns the rows of all inventories that the recording shows, by path of the call and agent. */
function reportedRows(exchanges: readonly ContractExchange[]) {
  const reported = new Map<string, Readonly<Record<string, unknown>>[]>()
  const paths = new Set<string>()
  // The calls over all agents show more rows than those of one agent.
  for (const isOfAll of [true, false]) {
    for (const { request, user, response } of exchanges) {
      const [, all, group = '', kind = ''] = PLAIN_INVENTORY.exec(request.path) ?? []
      const path = `/${group}/{agent_id}/${kind}`
      if (kind === '' || user !== 'administrator' || response.status !== 200 || paths.has(path)) continue
      if ((all !== undefined) !== isOfAll) continue
      paths.add(path)
      for (const item of parseBody(response.body)?.data?.affected_items ?? []) {
        const key = `${path} ${item.agent_id}`
        reported.set(key, [...(reported.get(key) ?? []), item])
      }
    }
  }
  return reported
}

const PLAIN_INVENTORY = /^(\/experimental)?\/(syscollector|ciscat)\/(?:\d+\/)?([a-z]+)(?:\?wait_for_complete=\w+)?$/

function toAgent(row: Row, now: Date, silence: number): SimAgent {
  const { id, name, ip, registerIP, status, version, os, group = [], configSum, mergedSum } = row
  // The recording is from another day: ages count, not dates.
  const isPending = status === 'pending' && version !== undefined
  const age = status === 'active' || isPending ? 0 : silence
  const seen = new Date(Math.floor((now.getTime() - age) / 1000) * 1000)
  return {
    id,
    name,
    ip,
    registerIP,
    key: Buffer.from(`${id} ${name} ${ip} ${'0'.repeat(64)}`).toString('base64'),
    dateAdd: new Date(seen.getTime() - 3_600_000),
    groups: [...group],
    cleared: new Set(),
    restarts: 0,
    ...(status !== 'never_connected' && { lastKeepAlive: seen }),
    ...(isPending && { isPending }),
    ...(version && { version }),
    ...(os && { os }),
    ...(configSum && { configSum }),
    ...(mergedSum && { mergedSum }),
  }
}

const CONF = '<agent_config>\n\n  <!-- Shared agent configuration here -->\n\n</agent_config>\n'
