/** Records of operations that the manager does not have: the stored responses of the edge, and the descriptions of its API. */
import type { Endpoint } from '../endpoint.ts'
import { limit, offset, search, select, sort } from './params.ts'
import { read, write } from './record.ts'
import { bool, list, param, required, text, wordOf } from './values.ts'

const minimal = 'affected_items is empty, and total_affected_items counts'
const reading = {
  section: 'Cache',
  permission: 'cache:read-own',
  cache: { never: 'describes the cache itself' },
  beyondSeed: true,
} as const
const purging = {
  section: 'Cache',
  permission: 'cache:purge',
  minimal,
  invalidates: [],
  invalidatesNothingBecause: 'removes stored responses; no data changes',
  beyondSeed: true,
} as const

const groupWords = wordOf(`
  agents manager cluster rules decoders lists syscheck rootcheck sca summary syscollector ciscat validation`)
const endpointName = 'path of an endpoint, with classic: in front of one of the classic contract'
const purgeOptions = {
  preview: param('only report what would be purged', bool(false)),
  soft: param('mark as stale instead of removing', bool(false)),
}

export const edge: readonly Endpoint[] = [
  read({
    path: '/cache',
    summary: 'List the stored responses of the cache',
    ...reading,
    query: {
      offset,
      limit,
      sort,
      search,
      select,
      group: param('cache group', groupWords),
      tag: param('tag, such as agent:001', text()),
      endpoint: param(endpointName, text('paths')),
    },
    target: { kind: 'edge', operation: 'cacheEntries' },
  }),
  read({
    path: '/cache/groups',
    summary: 'Count the stored responses by cache group',
    ...reading,
    target: { kind: 'edge', operation: 'cacheGroups' },
  }),
  read({
    path: '/cache/config',
    summary: 'Get the configuration of the cache',
    ...reading,
    target: { kind: 'edge', operation: 'cacheConfig' },
  }),
  read({
    path: '/cache/explain',
    summary: 'Explain whether the next request of a URL would hit',
    ...reading,
    query: { url: required('path and query of a GET, with classic: in front of one of the classic contract', text()) },
    target: { kind: 'edge', operation: 'cacheExplain' },
  }),
  write('DELETE', {
    path: '/cache',
    summary: 'Purge stored responses of the cache',
    ...purging,
    query: {
      key: param('keys of the stored responses', list(text('names'))),
      endpoint: param(endpointName, text('paths')),
      tag: param('tag, such as agent:001', text()),
      ...purgeOptions,
    },
    target: { kind: 'edge', operation: 'cacheClear' },
  }),
  write('DELETE', {
    path: '/cache/:group',
    summary: 'Purge the stored responses of one cache group',
    ...purging,
    params: { group: param('cache group', groupWords) },
    query: purgeOptions,
    target: { kind: 'edge', operation: 'cacheClearGroup' },
  }),
  read({
    path: '/openapi.json',
    summary: 'Get the OpenAPI document of the classic contract',
    section: 'API Info',
    permission: 'signedIn',
    response: { data: 'document', schema: 'OpenApiDocument' },
    target: { kind: 'edge', operation: 'describeApi' },
    cache: { never: 'part of the edge: revalidated by its entity tag' },
    beyondSeed: true,
  }),
  read({
    path: '/openapi-newer.json',
    summary: 'Get the OpenAPI document of this contract',
    section: 'API Info',
    permission: 'signedIn',
    response: { data: 'document', schema: 'OpenApiDocument' },
    target: { kind: 'edge', operation: 'describeNewerApi' },
    cache: { never: 'part of the edge: revalidated by its entity tag' },
    beyondSeed: true,
  }),
]
