import type { Body, CachePolicy, Endpoint, Target } from '../../../src/catalogue/endpoint.ts'
import { read, write } from '../../../src/catalogue/record.ts'
import { agentId, filter, list } from '../../../src/catalogue/schemas/params.ts'
import { collectionOf, message } from '../../../src/catalogue/schemas/responses.ts'
import { agentOwner, cacheIn, master } from '../../../src/catalogue/schemas/targets.ts'

/** Records that must not compile. `tsc --noEmit` fails here as soon as one of them does. */

const common = { summary: 's', section: 's', permission: 'a:read', target: master } as const
const cache: CachePolicy = cacheIn('agents', 'collection:agents')
const reading = { ...common, response: collectionOf('x'), cache } as const
const writing = { ...common, response: message, invalidates: ['collection:agents'] } as const
const body: Body = { kind: 'upload', types: ['application/xml'], wrongType: 607 }

/** Legal ones, so that the others fail for their own reason alone. */
export const legal: readonly Endpoint[] = [
  read({ ...reading, path: '/a' }),
  read({ ...reading, path: '/a/:agent_id', params: { agent_id: agentId }, query: list, strictQuery: true }),
  write('POST', { ...writing, path: '/a', body }),
]

// @ts-expect-error the path has a name that params lack
read({ ...reading, path: '/a/:agent_id' })
// @ts-expect-error params misspell the name in the path
read({ ...reading, path: '/a/:agent_id', params: { agentid: agentId } })
// @ts-expect-error the path has no name at all
read({ ...reading, path: '/a', params: { agent_id: agentId } })
// @ts-expect-error the second of two names is missing
read({ ...reading, path: '/a/:agent_id/b/:group_id', params: { agent_id: agentId } })

// @ts-expect-error a read says whether it may be kept
read({ ...common, path: '/a', response: collectionOf('x') })
// @ts-expect-error a read has no body
read({ ...reading, path: '/a', body })
// @ts-expect-error a read makes nothing stale
read({ ...reading, path: '/a', invalidates: ['collection:agents'] })
// @ts-expect-error a write says what it makes stale
write('PUT', { ...common, path: '/a', response: message })
// @ts-expect-error a write is never kept
write('PUT', { ...writing, path: '/a', keep })
// @ts-expect-error a GET is no write
write('GET', { ...writing, path: '/a' })
// @ts-expect-error every record names its permission
read({ path: '/a', summary: 's', section: 's', target: master, response: collectionOf('x'), cache: keep })
// @ts-expect-error a permission is resource:action or signedIn
read({ ...reading, path: '/a', permission: 'everybody' })
// @ts-expect-error a record has no fields beyond the vocabulary
read({ ...reading, path: '/a', retry: 3 })

export const targets: readonly Target[] = [
  { kind: 'agentOwners', merge: 'affected', ids: 'body' },
  // @ts-expect-error one owner has nothing to merge
  { kind: 'agentOwner', merge: 'affected' },
  // @ts-expect-error the master has nothing to merge
  { kind: 'master', through: 'any', merge: 'collection' },
  // @ts-expect-error every node says how its answers join
  { kind: 'everyNode', whenPartial: 'label' },
  // @ts-expect-error every node says what a missing answer means
  { kind: 'everyNode', merge: 'collection' },
  // @ts-expect-error there is no such merge rule
  { kind: 'everyNode', merge: 'first', whenPartial: 'label' },
  // @ts-expect-error the master says whether a worker may stand in for it
  { kind: 'master' },
  // @ts-expect-error a twin lies under /manager/
  { kind: 'node', twin: '/cluster/info', throughOthers: true },
  // @ts-expect-error the edge has no such operation
  { kind: 'edge', operation: 'reboot' },
]

export const keeps: readonly CachePolicy[] = [
  { never: 'a secret' },
  // @ts-expect-error what is kept names its group, its tags and its scope
  { group: 'agents' },
  // @ts-expect-error there is no such group of the cache
  { group: 'things', tags: [], scope: 'everyone' },
  // @ts-expect-error never has its reason
  { never: true },
]

export const bodies: readonly Body[] = [
  // @ts-expect-error an upload says what a wrong type answers
  { kind: 'upload', types: ['application/xml'] },
  // @ts-expect-error fields are sent as JSON or as a form
  { kind: 'fields', types: ['application/xml'], fields: {} },
  // @ts-expect-error a field is a string, an integer, a boolean or strings
  { kind: 'fields', types: ['application/json'], fields: { a: { type: 'date', role: 'x' } } },
]

// @ts-expect-error there is no such kind of value
filter('anything', 'x')
// @ts-expect-error an agent is asked of its owner, not of an owner with options
read({ ...reading, path: '/a', target: { ...agentOwner, ids: 'body' } })
export function change(record: Endpoint): void {
  // @ts-expect-error records are frozen: what is written stays
  record.path = '/b'
  // @ts-expect-error and so are their parts
  record.query.limit = list.limit
}
