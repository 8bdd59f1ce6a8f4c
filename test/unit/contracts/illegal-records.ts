import type { Body, CachePolicy, Endpoint, Target } from '../../../src/contracts/endpoint.ts'
import { read, write } from '../../../src/contracts/record.ts'
import { agentName, filter, list } from '../../../src/contracts/schemas/params.ts'
import { agentOwner, cacheIn, collectionOf, master, message } from '../../../src/contracts/schemas/shared.ts'

/** Records that must not compile. `tsc --noEmit` fails here as soon as one of them compiles. */

const translation = { call: { path: '/a' }, response: { kind: 'object' } } as const
const facts = { permission: 'a:read' } as const
const common = { ...facts, target: master, translation } as const
const cache: CachePolicy = cacheIn('agents', 'collection:agents')
const reading = { ...common, response: collectionOf('Agent'), cache } as const
const writing = { ...common, response: message, invalidates: ['collection:agents'] } as const
const body: Body = { kind: 'upload', types: ['application/xml'], wrongType: 607 }

/** Legal records, so that each of the others has exactly one fault. */
export const legal: readonly Endpoint[] = [
  read('/a', 's', reading),
  read('/a/:name', 's', { ...reading, params: { name: agentName }, query: list, strictQuery: true }),
  write('POST', '/a', 's', { ...writing, body }),
]

// @ts-expect-error the path has a name that params lack
read('/a/:name', 's', reading)
// @ts-expect-error params misspell the name in the path
read('/a/:name', 's', { ...reading, params: { nam: agentName } })
// @ts-expect-error the path has no name at all
read('/a', 's', { ...reading, params: { name: agentName } })
// @ts-expect-error the second of two names is missing
read('/a/:name/b/:other', 's', { ...reading, params: { name: agentName } })

// @ts-expect-error a record that a node answers has a translation for nodes of the v4 layout
read('/a', 's', { ...facts, target: master, response: collectionOf('Agent'), cache })
// @ts-expect-error a record that the edge answers has none
read('/a', 's', { ...facts, target: { kind: 'edge', operation: 'cacheIndex' }, translation, response: message, cache })

// @ts-expect-error a response has a schema
read('/a', 's', { ...common, cache, response: { data: 'object' } })
// @ts-expect-error the schema is one of items/schemas.json
read('/a', 's', { ...common, cache, response: collectionOf('Aegnt') })
// @ts-expect-error a read states whether it may be stored
read('/a', 's', { ...common, response: collectionOf('Agent') })
// @ts-expect-error a read has no body
read('/a', 's', { ...reading, body })
// @ts-expect-error a read invalidates nothing
read('/a', 's', { ...reading, invalidates: ['collection:agents'] })
// @ts-expect-error a write states what it invalidates
write('PUT', '/a', 's', { ...common, response: message })
// @ts-expect-error a write is never stored
write('PUT', '/a', 's', { ...writing, cache })
// @ts-expect-error a GET is no write
write('GET', '/a', 's', writing)
// @ts-expect-error every record names its permission
read('/a', 's', { target: master, translation, response: collectionOf('Agent'), cache })
// @ts-expect-error a permission is resource:action or signedIn
read('/a', 's', { ...reading, permission: 'everybody' })
// @ts-expect-error a record has no fields beyond the vocabulary
read('/a', 's', { ...reading, retry: 3 })

export const targets: readonly Target[] = [
  { kind: 'agentOwners', ids: 'body' },
  // @ts-expect-error a request to the master states whether a worker can forward it
  { kind: 'master' },
  // @ts-expect-error the path of a twin starts with /manager/
  { kind: 'node', twin: '/cluster/info', throughOthers: true },
  // @ts-expect-error the edge has no such operation
  { kind: 'edge', operation: 'reboot' },
]

export const policies: readonly CachePolicy[] = [
  { never: 'a secret' },
  // @ts-expect-error a stored response has a group and tags
  { group: 'agents' },
  // @ts-expect-error there is no such group of the cache
  { group: 'things', tags: [] },
  // @ts-expect-error `never` is a reason
  { never: true },
]

export const bodies: readonly Body[] = [
  // @ts-expect-error an upload has the error code of a wrong media type
  { kind: 'upload', types: ['application/xml'] },
  // @ts-expect-error fields are sent as JSON or as a form
  { kind: 'fields', types: ['application/xml'], fields: {} },
  // @ts-expect-error a field is a string, an integer, a boolean or strings
  { kind: 'fields', types: ['application/json'], fields: { a: { type: 'date', role: 'x' } } },
]

// @ts-expect-error there is no such kind of value
filter('anything', 'x')
// @ts-expect-error the target agentOwner has no options
read('/a', 's', { ...reading, target: { ...agentOwner, ids: 'body' } })
export function change(record: Endpoint): void {
  // @ts-expect-error records are frozen
  record.path = '/b'
  // @ts-expect-error and so are their members
  record.query.limit = list.limit
}
