/**
 * Checks the records of the v4 contract, and that they fit the v3 ones: both share one cache, so a write of either
 * contract must invalidate the reads of both. Each exception has its reason.
 */
import t from 'tap'
import type {
  Endpoint,
  ReadEndpoint,
  Tag,
  V3Endpoint,
  V4Endpoint,
  V4Read,
  WriteEndpoint,
} from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { param } from '../../../src/contracts/v4/parameters.ts'
import { text } from '../../../src/contracts/v4/value.ts'
import { asksForSecret } from '../../../src/core/access.ts'
import { checkCatalogue } from './checks/index.ts'
import { OF_ALL, tagsOf } from './checks/invalidation.ts'
import { idOf, isRead, isWrite } from './checks/record-facts.ts'

const both: readonly Endpoint[] = [...catalogue, ...v4Contract]

/** Returns the tag without values: `agent:{agent_id}`, `agent:{answer.id}` and `agent:*` are of one family. */
function familyOf(tag: Tag): string {
  return tag.replaceAll(/\{[^}]*\}|\*/g, '')
}

function storedTags({ cache }: ReadEndpoint): readonly Tag[] {
  return 'never' in cache ? [] : cache.tags
}

/** Returns the families of a record: those that a write invalidates, or that a stored response depends on. */
function familiesOf(record: Endpoint): ReadonlySet<string> {
  const tags = isWrite(record) ? tagsOf(record) : isRead(record) ? storedTags(record) : []
  return new Set(tags.map(familyOf))
}

/** Data that no write changes, by family. */
const unwritten: Readonly<Record<string, string>> = {
  mitre: 'the tables come with the release of the manager',
}

/** Families that only the v4 contract has. */
const v4Only: Readonly<Record<string, string>> = {
  mitre: 'the v3 contract has no MITRE tables',
  security: 'the v3 contract has no users, roles and policies',
  rights: 'the accepted tokens of the manager',
  'tokens:': 'the accepted tokens of one user',
  'vulnerability:': 'the v3 contract has no vulnerabilities',
  [OF_ALL]: 'each stored response has it',
}

t.test('the v4 contract has no faults', async (t) => {
  t.strictSame(checkCatalogue(v4Contract), [], 'records in src/contracts/v4')
})

t.test('each summary is a separate sentence', async (t) => {
  const summaries = v4Contract.map(({ summary }) => summary)
  t.equal(new Set(summaries).size, summaries.length)
  for (const summary of summaries) t.match(summary, /^[A-Z][a-z]+ [^.]+[^. ]$/)
})

t.test('data of each stored read are invalidated by some write', async (t) => {
  const written = new Set(both.filter(isWrite).flatMap((record) => [...familiesOf(record)]))
  const reads = both.filter(isRead)
  const unknown = reads.flatMap((record) => [...familiesOf(record)].filter((family) => !written.has(family)))
  t.strictSame([...new Set(unknown)].sort(), Object.keys(unwritten).sort(), 'listed in unwritten, with the reason')
})

t.test('the tags are those of the v3 contract, with listed exceptions', async (t) => {
  const v3 = new Set(catalogue.flatMap((record) => [...familiesOf(record)]))
  const more = new Set(v4Contract.flatMap((record) => [...familiesOf(record)].filter((own) => !v3.has(own))))
  t.strictSame([...more].sort(), Object.keys(v4Only).sort(), 'listed in v4Only, with the reason')
})

/** The records of the v4 contract whose calls answer a v3 request in front of nodes of the v4 layout. */
function equalsOf({ translation: v4, method }: V3Endpoint): readonly V4Endpoint[] {
  if (v4 === undefined) return []
  const { call } = v4
  const id = `${call.method ?? method} ${call.path}`
  const ids = ['/manager', '/cluster/:node_id'].map((node) => id.replace('{node}', node))
  return v4Contract.filter((record) => ids.includes(idOf(record)))
}

const pairs = catalogue.flatMap((v3) => equalsOf(v3).map((v4) => ({ v3, v4 })))

/** Families that a v3 write invalidates and the v4 one with the same call does not. */
const narrower: Readonly<Record<string, string>> = {
  'PUT /manager/configuration lists': 'the call writes the configuration only; lists have their own',
  'PUT /cluster/:node_id/configuration lists': 'the call writes the configuration only; lists have their own',
}

t.test('a write invalidates what the v3 write with the same call invalidates', async (t) => {
  const writes = pairs.filter(({ v4 }) => isWrite(v4))
  t.ok(writes.length > 30, `${writes.length} pairs`)
  const missing = writes.flatMap(({ v3, v4 }) => {
    const own = familiesOf(v4)
    return [...familiesOf(v3)].filter((family) => !own.has(family)).map((family) => `${idOf(v4)} ${family}`)
  })
  t.strictSame([...new Set(missing)].sort(), Object.keys(narrower).sort(), 'listed in narrower, with the reason')
})

/** Of one agent: the v3 read has its own path, and the v4 one is a filter of the list. */
const ofOne = new Set(['GET /agents/:agent_id'])

t.test('a stored read depends on what the v3 read with the same call depends on', async (t) => {
  const reads = pairs.filter(({ v3, v4 }) => isRead(v4) && !ofOne.has(idOf(v3)))
  t.ok(reads.length > 80, `${reads.length} pairs`)
  for (const { v3, v4 } of reads) {
    const own = familiesOf(v4)
    if (own.size === 0) continue
    const missing = [...familiesOf(v3)].filter((family) => !own.has(family))
    t.strictSame(missing, [], `${idOf(v3)} and ${idOf(v4)}`)
  }
})

/** Dashboards of releases 4.x send it at each page load, so it is stored, although it contains the time of the response. */
const CHECK_OF_DASHBOARDS = 'GET /'

t.test('a response that may contain a secret is one in both contracts, and is never stored', async (t) => {
  const withSecret = pairs.filter(({ v3 }) => v3.secret !== 'none')
  t.ok(withSecret.length > 10, `${withSecret.length} pairs`)
  for (const { v3, v4 } of withSecret) t.not(v4.secret, 'none', `${idOf(v3)} and ${idOf(v4)}`)
  for (const record of v4Contract.filter((record): record is V4Read => record.method === 'GET')) {
    if (record.secret !== 'none') t.ok('never' in record.cache, idOf(record))
  }
  for (const { v3, v4 } of pairs) {
    if (!isRead(v3) || !isRead(v4) || !('never' in v3.cache) || idOf(v4) === CHECK_OF_DASHBOARDS) continue
    t.ok('never' in v4.cache, `${idOf(v4)} is never stored, as ${idOf(v3)}`)
  }
})

t.test('a parameter that names the key of agents makes the response a secret', async (t) => {
  const agents = v4Contract.find((record) => idOf(record) === 'GET /agents') as ReadEndpoint
  for (const name of ['select', 'sort', 'q', 'search']) {
    t.ok(asksForSecret(agents, { [name]: 'id,Internal_Key' }), name)
    t.notOk(asksForSecret(agents, { [name]: 'id,name' }), name)
  }
})

/** Other permissions than those of the v3 record with the same call. */
const otherPermissions: Readonly<Record<string, string>> = {
  'GET /agents/upgrade_result': 'the manager demands the right to upgrade',
  'GET /manager/configuration': 'the v3 path reads any file, this one the configuration',
  'GET /cluster/:node_id/configuration': 'the v3 path reads any file, this one the configuration',
}

t.test('the permissions are those of the v3 contract, and only security is changed with security:write', async (t) => {
  const others = pairs.filter(({ v3, v4 }) => v3.permission !== v4.permission)
  t.strictSame([...new Set(others.map(({ v4 }) => idOf(v4)))].sort(), Object.keys(otherPermissions).sort())
  for (const record of v4Contract) {
    const changes = isWrite(record) && record.path.startsWith('/security/') && record.target.kind !== 'edge'
    t.equal(record.permission === 'security:write', changes, idOf(record))
  }
})

t.test('mistakes in a record are found', async (t) => {
  const read = v4Contract.find((record) => idOf(record) === 'GET /groups') as ReadEndpoint
  const write = v4Contract.find((record) => idOf(record) === 'POST /groups') as WriteEndpoint
  const faults = (record: Endpoint) => checkCatalogue([...v4Contract, record])
  const path = '/new'
  const cases: readonly (readonly [Endpoint, RegExp])[] = [
    [{ ...read, path, secret: 'always' }, /GET \/new: it may contain a secret but is stored/],
    [{ ...read, path, cache: { group: 'agents', tags: ['agent:{id}'] } }, /unknown placeholder/],
    [{ ...write, path, invalidates: [] }, /POST \/new: it invalidates nothing/],
    [{ ...write, path, invalidates: ['agnet:*'] }, /no stored read has the tag agnet:\*/],
    [{ ...read, path: '/new/:agent_id', params: { agent_id: param('id', text()) } }, /set canonical to agentId/],
  ]
  for (const [record, message] of cases) t.match(faults(record).join('\n'), message)
})
