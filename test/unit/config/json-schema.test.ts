/** The schema of the settings for editors (config/edge.schema.json), compared with what the edge accepts. */
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { settingsSchema } from '../../../packages/reference/src/settings-schema.ts'
import { schema } from '../../../src/config/schema.ts'
import { getIn, listLeaves, type SchemaNode, setIn } from '../../../src/config/tree.ts'
import { validate } from '../../../src/config/validate.ts'

const text = settingsSchema(readFileSync('config/default.yaml', 'utf8'))
const accepts = new Ajv({ strict: true, allowUnionTypes: true, strictTypes: false }).compile(JSON.parse(text))
const EXAMPLES = ['config/edge.example.yaml', 'config/kubernetes/edge.yaml', 'config/default.yaml']
const read = (file: string) => parse(readFileSync(file, 'utf8'))
const faults = (settings: unknown) => (accepts(settings) ? [] : accepts.errors)

t.test('it accepts every shipped example, and the example names it in its first line', async (t) => {
  for (const file of EXAMPLES) t.strictSame(faults(read(file)), [], file)
  t.match(readFileSync('config/edge.example.yaml', 'utf8'), /^# yaml-language-server: \$schema=edge\.schema\.json\n/)
  t.strictSame(faults({ listen: { tls: 'off' }, operations: { tls: 'off' } }), [])
})

/** Returns values that this setting cannot have. */
function wrongValues({ type, format, minimum, enum: values }: SchemaNode & { readonly minimum?: number }): unknown[] {
  return [
    ...(type === 'string' ? [1] : ['text']),
    ...(values ? ['none of them'] : []),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(format === undefined || format === 'path' ? [] : ['??']),
  ]
}

t.test('what the edge refuses in a single setting, it refuses too', async (t) => {
  const without = (path: readonly string[], value: unknown) => {
    const tree: Record<string, unknown> = {}
    setIn(tree, path, value)
    return tree
  }
  for (const { path, schema: leaf } of listLeaves(schema)) {
    const name = path.join('.')
    for (const value of wrongValues(leaf)) {
      t.not(validate(without(path, value)).length, 0, `the edge refuses ${name}: ${value}`)
      t.not(faults(without(path, value))?.length, 0, `${name}: ${value}`)
    }
    const misspelled = [...path.slice(0, -1), `${path.at(-1)}x`]
    t.not(faults(without(misspelled, null))?.length, 0, `unknown: ${misspelled.join('.')}`)
    if (leaf.default !== undefined) t.strictSame(faults(without(path, leaf.default)), [], `default of ${name}`)
  }
  const nodes = (node: object) => faults({ cluster: { nodes: [node] } })
  t.not(nodes({ name: 'master', type: 'master' })?.length, 0, 'a node without its URL')
  t.not(nodes({ name: 'master', type: 'leader', url: 'https://a:1' })?.length, 0)
  t.strictSame(nodes({ name: 'master', type: 'master', url: 'https://a:1' }), [])
})

t.test('editors show the meaning of every setting', async (t) => {
  const document = JSON.parse(text)
  for (const { path } of listLeaves(schema)) {
    // The members of a group that may also be `off`.
    const place = path.flatMap((name) => [
      ...(name === 'cert' || name === 'key' ? ['anyOf', 1] : []),
      'properties',
      name,
    ])
    t.type(
      getIn(document, [
        ...(path[0] === 'cluster' ? path.flatMap((name) => ['properties', name]) : place),
        'description',
      ]),
      'string',
      path.join('.'),
    )
  }
})
