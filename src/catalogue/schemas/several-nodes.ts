/**
 * Several nodes at once, beyond the seed: each part of a node's own gives one more record, whose `:node_ids` is `*` or a
 * list. Each node is asked as the record of one asks it, and what they answer is one collection.
 */
import type { CachePolicy, Endpoint, Param, ReadEndpoint, ResponseShape } from '../endpoint.ts'
import { read } from '../record.ts'
import { collectionOf } from './answers.ts'
import { list, nodeIds } from './params.ts'

type OneNode = ReadEndpoint<`/cluster/:node_id/${string}`> & { readonly target: { readonly kind: 'node' } }

export function isOfNode(record: Endpoint): record is OneNode {
  return record.method === 'GET' && record.target.kind === 'node'
}

/** The record of several nodes from that of one. */
export function severalNodes(one: OneNode): Endpoint {
  const { path, summary, section, query, permission, secret, response: answer, cache: keep, slow } = one
  const { node_id: _, ...params }: Readonly<Record<string, Param>> = one.params
  return read<string>({
    path: path.replace(':node_id', ':node_ids'),
    summary: `${summary}, of several nodes`,
    section,
    params: { node_ids: nodeIds, ...params },
    // A page of the whole: no node is asked for it where its own answer has none.
    query: { ...list, ...Object.fromEntries(Object.entries(query).filter(([name]) => !Object.hasOwn(list, name))) },
    // What a single node ignores would be taken for a filter of the joined rows.
    strictQuery: true,
    permission,
    secret,
    target: { kind: 'severalNodes', ofNode: path },
    response: rowsOf(answer),
    cache: keptAsWhole(keep),
    beyondSeed: true,
    ...(slow && { slow }),
  })
}

function rowsOf({ description: of, rows }: ResponseShape): ResponseShape {
  return collectionOf(`${of} of each node, with node_name`, rows ?? 'nodeAnswers')
}

/** Kept until a write touches any of the nodes: which they are is not known before they are asked. */
function keptAsWhole(cache: CachePolicy): CachePolicy {
  if ('never' in cache) return cache
  const tags = cache.tags.map((tag) => (tag === 'node:{node_id}' ? 'collection:nodes' : tag))
  return { ...cache, tags }
}
