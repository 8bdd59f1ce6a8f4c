/** The group of `manager-edge verify-coherence`, and its requests in both contracts. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Contract } from '../catalogue/endpoint.ts'
import { parseJson } from '../core/values.ts'
import {
  connectError,
  type EdgeClient,
  type ReceivedResponse,
  type ReceivedText,
  UnauthorizedError,
} from './edge-client.ts'
import { singleLine } from './output.ts'
import { CommandError } from './terminal.ts'

/** A response to the list of groups. */
interface ListedGroup extends ReceivedResponse {
  /** Checksum of the configuration, which each write changes. Absent: the list has no such group. */
  readonly value?: string
}

export type CoherenceGroup = ReturnType<typeof createCoherenceGroup>

type Send = Parameters<EdgeClient['getText']>

interface GroupRequests {
  readonly list: string
  readonly items: 'items' | 'affected_items'
  readonly create: Send
  readonly configure: readonly [path: string, method: 'POST' | 'PUT']
  readonly remove: string
}

const requestsFor: Readonly<Record<Contract, (name: string) => GroupRequests>> = {
  classic: (name) => ({
    list: `/agents/groups?search=${name}`,
    items: 'items',
    create: [`/agents/groups/${name}`, { method: 'PUT' }],
    configure: [`/agents/groups/${name}/configuration`, 'POST'],
    remove: `/agents/groups/${name}`,
  }),
  newer: (name) => ({
    list: `/groups?search=${name}`,
    items: 'affected_items',
    create: ['/groups', { method: 'POST', body: { group_id: name } }],
    configure: [`/groups/${name}/configuration`, 'PUT'],
    remove: `/groups?groups_list=${name}`,
  }),
}

/** Requests at most that the edge rejects because it is at a limit. */
const MAX_ATTEMPTS = 5
const DEFAULT_PAUSE_MS = 1000

export function createCoherenceGroup(contract: Contract) {
  const name = `edge-coherence-${randomBytes(4).toString('hex')}`
  const { list, items, create, configure, remove } = requestsFor[contract](name)
  const read = async (client: EdgeClient): Promise<ListedGroup> => {
    for (let attempt = 1; ; attempt++) {
      const response = await send(client, list)
      const isRejected = response.status === 429 || response.status === 503
      if (!isRejected || attempt === MAX_ATTEMPTS) {
        const value = checksumOf(accept(response, client, `GET ${list}`), items, name)
        return { ...response, ...(value !== undefined && { value }) }
      }
      await sleep(response.retryAfterMs ?? DEFAULT_PAUSE_MS)
    }
  }
  const write = async (client: EdgeClient, ...[path, init = {}]: Send): Promise<void> => {
    accept(await send(client, path, init), client, `${init.method} ${path}`)
  }
  return {
    name,
    /** What is to be done if `remove` fails. */
    removal: `DELETE ${remove}`,
    read,
    create: (client: EdgeClient) => write(client, ...create),
    /** Replaces its configuration. It has no agents, so no agent receives it. */
    configure: (client: EdgeClient, version: number) => {
      const [path, method] = configure
      const label = `<label key="edge-coherence">${version}</label>`
      const text = `<agent_config><labels>${label}</labels></agent_config>`
      return write(client, path, { method, content: { type: 'application/xml', text } })
    },
    /** Resolves to whether the list is without the group afterwards. */
    remove: async (client: EdgeClient): Promise<boolean> => {
      await send(client, remove, { method: 'DELETE' })
      return (await read(client)).value === undefined
    },
  }
}

function send(client: EdgeClient, ...request: Send): Promise<ReceivedText> {
  return client.getText(...request).catch((error: Error) => {
    throw connectError(error, client.origin)
  })
}

/** Returns the body of a response with status 200. */
function accept({ status, text }: ReceivedText, { origin }: EdgeClient, what: string): string {
  if (status === 401) throw new UnauthorizedError()
  if (status === 200) return text
  throw new CommandError(`${what} of ${origin} has status ${status}: ${singleLine(text.slice(0, 300))}`)
}

interface GroupList {
  readonly data?: { readonly [items: string]: readonly { readonly name?: string; readonly configSum?: string }[] }
}

function checksumOf(text: string, items: string, name: string): string | undefined {
  const body = parseJson(text) as GroupList | undefined
  const rows = body?.data?.[items]
  if (!Array.isArray(rows)) throw new CommandError('the list of groups has no rows; check --contract and the URL')
  const row = rows.find((each) => each.name === name)
  return row === undefined ? undefined : String(row.configSum)
}
