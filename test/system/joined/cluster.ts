import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { inventoryRows } from '../../../packages/simulator/src/data/inventory/rows.ts'
import { machineOf } from '../../../packages/simulator/src/data/machine.ts'
import { assessments } from '../../../packages/simulator/src/data/scans/ciscat.ts'
import type { Simulator } from '../../../packages/simulator/src/index.ts'
import { seenFrom } from '../../../packages/simulator/src/view.ts'
import type { Row } from '../../../src/collections/value.ts'
import { type InventoryKind, inventoryKinds } from '../../../src/contracts/v3/inventories.ts'
import { referencePage } from '../../support/reference-collection.ts'
import { simulated } from '../../support/simulated.ts'

/** An edge in front of a simulated cluster, and what one node that held all rows would return. */

export type Kind = InventoryKind | 'ciscat'

export const kinds: readonly Kind[] = [...inventoryKinds, 'ciscat']

export const pathOf = (kind: Kind) =>
  kind === 'ciscat' ? '/experimental/ciscat/results' : `/experimental/syscollector/${kind}`

export interface Given {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly error: number
    readonly message?: string
    readonly data: {
      readonly items: readonly Row[]
      readonly totalItems: number
      readonly covered_agents?: { readonly covered: number; readonly all: number }
      readonly failed_nodes?: readonly { readonly node: string; readonly error: { code: number; message: string } }[]
    }
  }
}

interface Options {
  readonly distribution?: 'manager' | 'edge'
  readonly agents?: number
  readonly workers?: number
  readonly cluster?: Readonly<Record<string, unknown>>
  readonly cache?: Readonly<Record<string, unknown>>
}

/** The clock of the world does not advance, so the same request has the same response. */
const NOW = new Date('2026-11-20T12:00:00Z')

export async function joinedCluster(t: Test, options: Options = {}) {
  const { distribution = 'edge', agents = 30, workers = 2 } = options
  const settings = { cluster: { distribution, discover: false, ...options.cluster }, cache: options.cache ?? {} }
  const world = { agents, workers, distributed: distribution === 'manager', now: () => NOW }
  const { simulator, edge } = await simulated(t, world, { settings })
  const get = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Given> => {
    const response = await fetch(edge.url + path, {
      headers: { authorization: edge.authorization('admin'), ...headers },
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  /** Reads until the rows of all agents are there: responses before cover as many as the price of a read allows. */
  const getComplete: typeof get = async (path, headers) => {
    for (;;) {
      const given = await get(path, headers)
      if (given.body.data?.covered_agents === undefined) return given
      await setTimeout(20)
    }
  }
  /** Returns the calls to nodes whose URL contains the text. */
  const asked = (part: string) => simulator.seen.filter(({ url }) => url.includes(part))
  return { simulator, edge, get, getComplete, asked }
}

/** Returns `Cluster-Status` by node, without times. */
export function statusOf(given: Given): Readonly<Record<string, string>> {
  const text = given.headers.get('cluster-status') ?? ''
  return Object.fromEntries(
    text.split(', ').map((member) => {
      const [node = '', ...params] = member.split(';')
      return [node, params.map((param) => param.replace(/^rtt=[0-9]+$/, 'rtt')).join(';')]
    }),
  )
}

/** Returns all rows of all agents of all nodes, in the order of rows with equal keys. `masterAlone`: without rows of the workers themselves. */
export function allRows({ world }: Simulator, kind: Kind, masterAlone = false): Row[] {
  return world.nodes.flatMap((node) => {
    const seen = seenFrom(node, world, 'local')
    return [...seen.agents.values()].flatMap((agent) => {
      const hidden = masterAlone && agent.id === '000' && node.type !== 'master'
      const machine = hidden ? undefined : machineOf(seen, node, agent)
      const rows =
        machine === undefined ? [] : kind === 'ciscat' ? assessments(machine) : inventoryRows(world.seed, machine, kind)
      const own = agent.id === '000' ? { node_name: node.name } : {}
      return rows.map((row) => ({ ...own, ...row, agent_id: agent.id }))
    })
  })
}

/** Tables whose rows have no scan id keep the order of the rows. */
const INVENTORY = { engine: 'database', order: '+scan_id', nested: true, added: ['agent_id', 'node_name'] } as const

/** What one node that held all rows would return. */
export function expected(rows: readonly Row[], query: Readonly<Record<string, string>>) {
  return referencePage(rows, query, INVENTORY)
}
