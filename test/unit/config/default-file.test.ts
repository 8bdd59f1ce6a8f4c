import { readFileSync } from 'node:fs'
import t from 'tap'
import { isScalar, parse, parseDocument, visit } from 'yaml'
import { parseUsers } from '../../../src/access/users-file.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { schema } from '../../../src/config/schema.ts'
import { getIn, listLeaves } from '../../../src/config/tree.ts'
import { isObject } from '../../../src/core/values.ts'

const text = readFileSync('config/default.yaml', 'utf8')

/** Paths and values of all leaves; an empty table is one. */
function leaves(tree: unknown, path: string[] = []): Map<string, unknown> {
  if (!isObject(tree) || Object.keys(tree).length === 0) return new Map([[path.join('.'), tree]])
  return new Map(Object.entries(tree).flatMap(([key, member]) => [...leaves(member, [...path, key])]))
}

t.test('default.yaml names every setting of the schema with its default, and no other', async (t) => {
  const written = parse(text)
  const known = new Map(listLeaves(schema).map((leaf) => [leaf.path.join('.'), leaf]))
  for (const [name, { path, schema }] of known) {
    // `tls: null` represents its two members.
    const isOfNull = getIn(written, path.slice(0, -1)) === null
    t.strictSame(
      isOfNull ? null : getIn(written, path),
      schema.default ?? null,
      `config/default.yaml: ${name} is written with its default; if there is none, as null`,
    )
  }
  for (const path of leaves(written).keys()) {
    const isKnown = (name: string) => name === path || name.startsWith(`${path}.`) || path.startsWith(`${name}.`)
    t.ok([...known.keys()].some(isKnown), `${path} is a setting`)
  }
})

t.test('every line of default.yaml has a comment', async (t) => {
  const document = parseDocument(text)
  const bare: string[] = []
  visit(document, {
    Pair(_key, { key, value }) {
      const begin = isScalar(key) ? (key.range?.[0] ?? 0) : 0
      const line = text.slice(begin, text.indexOf('\n', begin))
      if (isObject(value) && 'items' in value && !line.includes('[') && !line.includes('{')) return
      if (!line.includes('# ')) bare.push(String(key))
    },
  })
  t.strictSame(bare, [])
})

t.test('default.yaml is valid except for the nodes, the credentials and the users', async (t) => {
  const loaded = await loadConfig({ file: 'config/default.yaml', env: {} })
  t.strictSame(!loaded.ok && loaded.faults.map((fault) => fault.split(' ')[1]), [
    'cluster.nodes:',
    'cluster.credentials:',
    'access.users:',
  ])
})

t.test('edge.example.yaml is valid except for its missing files', async (t) => {
  const loaded = await loadConfig({ file: 'config/edge.example.yaml', env: {} })
  const faults = loaded.ok ? [] : loaded.faults
  t.equal(faults.length, 11, faults.join('\n'))
  t.ok(
    faults.every((fault) => fault.includes('cannot be read')),
    faults.join('\n'),
  )
})

t.test('users.example contains no user', async (t) => {
  const { users, faults } = parseUsers(readFileSync('config/users.example', 'utf8'))
  t.equal(users.size, 0)
  t.strictSame(faults, [])
})
