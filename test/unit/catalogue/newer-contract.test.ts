/**
 * Checks the records of the newer contract, and that they fit the classic ones: both share one cache, so a write of either
 * contract must invalidate the reads of both. Each exception has its reason.
 */
import t from 'tap'
import type { Endpoint, ReadEndpoint, Tag, WriteEndpoint } from '../../../src/catalogue/endpoint.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import { newerContract } from '../../../src/catalogue/newer-contract/index.ts'
import { param } from '../../../src/catalogue/newer-contract/shared.ts'
import { text } from '../../../src/catalogue/newer-contract/value.ts'
import { asksForSecret } from '../../../src/core/access.ts'
import { checkCatalogue } from './checks/index.ts'
import { OF_ALL, tagsOf } from './checks/invalidation.ts'
import { idOf, isRead, isWrite } from './checks/record-facts.ts'

const both: readonly Endpoint[] = [...catalogue, ...newerContract]

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

/** Families that only the newer contract has. */
const newerOnly: Readonly<Record<string, string>> = {
  mitre: 'the classic contract has no MITRE tables',
  security: 'the classic contract has no users, roles and policies',
  rights: 'the accepted tokens of the manager',
  'tokens:': 'the accepted tokens of one user',
  'vulnerability:': 'the classic contract has no vulnerabilities',
  [OF_ALL]: 'each stored response has it',
}

t.test('the newer contract has no faults', async (t) => {
  t.strictSame(checkCatalogue(newerContract), [], 'records in src/catalogue/newer-contract')
})

t.test('each summary is a sentence of its own', async (t) => {
  const summaries = newerContract.map(({ summary }) => summary)
  t.equal(new Set(summaries).size, summaries.length)
  for (const summary of summaries) t.match(summary, /^[A-Z][a-z]+ [^.]+[^. ]$/)
})

t.test('data of each stored read are invalidated by some write', async (t) => {
  const written = new Set(both.filter(isWrite).flatMap((record) => [...familiesOf(record)]))
  const reads = both.filter(isRead)
  const unknown = reads.flatMap((record) => [...familiesOf(record)].filter((family) => !written.has(family)))
  t.strictSame([...new Set(unknown)].sort(), Object.keys(unwritten).sort(), 'listed in unwritten, with the reason')
})

t.test('the tags are those of the classic contract, with listed exceptions', async (t) => {
  const classic = new Set(catalogue.flatMap((record) => [...familiesOf(record)]))
  const more = new Set(newerContract.flatMap((record) => [...familiesOf(record)].filter((own) => !classic.has(own))))
  t.strictSame([...more].sort(), Object.keys(newerOnly).sort(), 'listed in newerOnly, with the reason')
})

/** The records of the newer contract whose calls answer a classic request in front of nodes of the newer layout. */
function equalsOf({ newer, method }: Endpoint): readonly Endpoint[] {
  const { call } = newer ?? {}
  if (call === undefined) return []
  const id = `${call.method ?? method} ${call.path}`
  const ids = ['/manager', '/cluster/:node_id'].map((node) => id.replace('{node}', node))
  return newerContract.filter((record) => ids.includes(idOf(record)))
}

const pairs = catalogue.flatMap((classic) => equalsOf(classic).map((newer) => ({ classic, newer })))

/** Families that a classic write invalidates and the newer one with the same call does not. */
const narrower: Readonly<Record<string, string>> = {
  'PUT /manager/configuration lists': 'the call writes the configuration only; lists have their own',
  'PUT /cluster/:node_id/configuration lists': 'the call writes the configuration only; lists have their own',
}

t.test('a write invalidates what the classic write with the same call invalidates', async (t) => {
  const writes = pairs.filter(({ newer }) => isWrite(newer))
  t.ok(writes.length > 30, `${writes.length} pairs`)
  const missing = writes.flatMap(({ classic, newer }) => {
    const own = familiesOf(newer)
    return [...familiesOf(classic)].filter((family) => !own.has(family)).map((family) => `${idOf(newer)} ${family}`)
  })
  t.strictSame([...new Set(missing)].sort(), Object.keys(narrower).sort(), 'listed in narrower, with the reason')
})

/** Of one agent: the classic read has its own path, and the newer one is a filter of the list. */
const ofOne = new Set(['GET /agents/:agent_id'])

t.test('a stored read depends on what the classic read with the same call depends on', async (t) => {
  const reads = pairs.filter(({ classic, newer }) => isRead(newer) && !ofOne.has(idOf(classic)))
  t.ok(reads.length > 80, `${reads.length} pairs`)
  for (const { classic, newer } of reads) {
    const own = familiesOf(newer)
    if (own.size === 0) continue
    const missing = [...familiesOf(classic)].filter((family) => !own.has(family))
    t.strictSame(missing, [], `${idOf(classic)} and ${idOf(newer)}`)
  }
})

/** Dashboards of releases 4.x send it at each page load, so it is stored, although it contains the time of the response. */
const CHECK_OF_DASHBOARDS = 'GET /'

t.test('a response that may contain a secret is one in both contracts, and is never stored', async (t) => {
  const withSecret = pairs.filter(({ classic }) => classic.secret !== 'none')
  t.ok(withSecret.length > 10, `${withSecret.length} pairs`)
  for (const { classic, newer } of withSecret) t.not(newer.secret, 'none', `${idOf(classic)} and ${idOf(newer)}`)
  for (const record of newerContract.filter(isRead)) {
    if (record.secret !== 'none') t.ok('never' in record.cache, idOf(record))
  }
  for (const { classic, newer } of pairs) {
    if (!isRead(classic) || !isRead(newer) || !('never' in classic.cache) || idOf(newer) === CHECK_OF_DASHBOARDS)
      continue
    t.ok('never' in newer.cache, `${idOf(newer)} is never stored, as ${idOf(classic)}`)
  }
})

t.test('a parameter that names the key of agents makes the response a secret', async (t) => {
  const agents = newerContract.find((record) => idOf(record) === 'GET /agents') as ReadEndpoint
  for (const name of ['select', 'sort', 'q', 'search']) {
    t.ok(asksForSecret(agents, { [name]: 'id,Internal_Key' }), name)
    t.notOk(asksForSecret(agents, { [name]: 'id,name' }), name)
  }
})

/** Other permissions than those of the classic record with the same call. */
const otherPermissions: Readonly<Record<string, string>> = {
  'GET /agents/upgrade_result': 'the manager demands the right to upgrade',
  'GET /manager/configuration': 'the classic path reads any file, this one the configuration',
  'GET /cluster/:node_id/configuration': 'the classic path reads any file, this one the configuration',
}

t.test(
  'the permissions are those of the classic contract, and only security is changed with security:write',
  async (t) => {
    const others = pairs.filter(({ classic, newer }) => classic.permission !== newer.permission)
    t.strictSame([...new Set(others.map(({ newer }) => idOf(newer)))].sort(), Object.keys(otherPermissions).sort())
    for (const record of newerContract) {
      const changes = isWrite(record) && record.path.startsWith('/security/') && record.target.kind !== 'edge'
      t.equal(record.permission === 'security:write', changes, idOf(record))
    }
  },
)

t.test('mistakes in a record are found', async (t) => {
  const read = newerContract.find((record) => idOf(record) === 'GET /groups') as ReadEndpoint
  const write = newerContract.find((record) => idOf(record) === 'POST /groups') as WriteEndpoint
  const faults = (record: Endpoint) => checkCatalogue([...newerContract, record])
  const path = '/new'
  const cases: readonly (readonly [Endpoint, RegExp])[] = [
    [{ ...read, path, secret: 'always' }, /GET \/new: it may contain a secret but is stored/],
    [{ ...read, path, cache: { group: 'agents', tags: ['agent:{id}'], scope: 'rights' } }, /unknown placeholder/],
    [{ ...write, path, invalidates: [] }, /POST \/new: it invalidates nothing/],
    [{ ...write, path, invalidates: ['agnet:*'] }, /no stored read has the tag agnet:\*/],
    [{ ...read, path: '/new/:agent_id', params: { agent_id: param('id', text()) } }, /set canonical to agentId/],
  ]
  for (const [record, message] of cases) t.match(faults(record).join('\n'), message)
})
