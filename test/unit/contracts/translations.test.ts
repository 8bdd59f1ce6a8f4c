/** Translations for the v4 layout refer to what their records have. */
import t from 'tap'
import ts from 'typescript'
import { type Source, sources } from '../../../src/collections/sources.ts'
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import type { Translation } from '../../../src/contracts/translations/translation.ts'
import { ownEntry } from '../../../src/core/values.ts'

const translated = catalogue.flatMap((endpoint) =>
  endpoint.translation === undefined ? [] : [[endpoint, endpoint.translation] as const],
)
const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`

/** All texts in a translation. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

const fieldsOf = (endpoint: Endpoint): readonly string[] => {
  const body = 'body' in endpoint ? endpoint.body : undefined
  return body?.kind === 'fields' ? Object.keys(body.fields) : []
}

/** The fields of rows: tables of several records translate filters that only some of them have. */
function columnsOf({ response }: Translation): readonly string[] {
  const source: Source | undefined = ownEntry<Source>(sources, ('rows' in response && response.rows?.source) || '')
  return source?.engine === 'database' ? Object.keys(source.fields) : []
}

t.test('parameters that are translated are parameters of the record', async (t) => {
  for (const [endpoint, translation] of translated) {
    const { call, refused = {} } = translation
    const parameters = [...Object.keys(endpoint.query), ...columnsOf(translation)]
    for (const name of Object.keys(call.params ?? {})) t.ok(parameters.includes(name), `${nameOf(endpoint)}: ${name}`)
    const known = [...Object.keys(endpoint.params), ...Object.keys(endpoint.query), ...fieldsOf(endpoint)]
    for (const name of Object.keys(refused)) t.ok(known.includes(name), `${nameOf(endpoint)}: refused ${name}`)
  }
})

t.test('placeholders are parameters of the path, or of the query', async (t) => {
  for (const [endpoint, translation] of translated) {
    const { file: _, ...templates } = translation
    for (const text of textsOf(templates)) {
      for (const [, param, query] of text.matchAll(/:([a-z_]+)|\{query\.([a-z_]+)/g)) {
        const isKnown = param === undefined ? (query ?? '') in endpoint.query : param in endpoint.params
        t.ok(isKnown, `${nameOf(endpoint)}: ${text}`)
      }
    }
  }
})

t.test('rows that the edge evaluates are of a kind that it can evaluate', async (t) => {
  for (const [endpoint, { response }] of translated) {
    const source = 'rows' in response ? response.rows?.source : undefined
    if (source !== undefined) t.ok(source in sources, `${nameOf(endpoint)}: ${source}`)
  }
})

/** Whether each call contains the value of the parameter. */
function sends({ call }: Translation, name: string): boolean {
  const { path, fixed = {}, body } = call
  return textsOf([path, fixed, body]).some((text) => text.includes(`:${name}`))
}

t.test('a write about one agent, or one group, names it in each call', async (t) => {
  for (const [endpoint, translation] of translated.filter(([{ method }]) => method !== 'GET')) {
    for (const name of ['agent_id', 'group_id']) {
      if (name in endpoint.params) t.ok(sends(translation, name), `${nameOf(endpoint)}: ${name}`)
    }
  }
})

t.test('a write about a list of agents sends the list, or nothing', async (t) => {
  for (const [endpoint, { call }] of translated.filter(([{ method }]) => method !== 'GET')) {
    const hasIds = fieldsOf(endpoint).includes('ids') || endpoint.query.ids?.kind === 'array_numbers'
    if (hasIds) t.equal(call.list?.as, 'agents_list', nameOf(endpoint))
  }
})

t.test('the compiler accepts the table: no unknown word, no missing member', async (t) => {
  const at = 'src/contracts/translations/checked.ts'
  const check = (written: object): readonly string[] => {
    const text = `import type { Translation } from './translation.ts'
export const all: readonly Translation[] = ${JSON.stringify(written)}`
    const options = {
      noEmit: true,
      strict: true,
      exactOptionalPropertyTypes: true,
      types: [],
      lib: ['lib.es2023.d.ts'],
    }
    const compilerOptions = { ...options, allowImportingTsExtensions: true, module: ts.ModuleKind.ESNext }
    const host = ts.createCompilerHost(compilerOptions)
    const { getSourceFile } = host
    host.getSourceFile = (name, ...rest) =>
      name === at ? ts.createSourceFile(at, text, ts.ScriptTarget.ES2023) : getSourceFile(name, ...rest)
    const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram([at], compilerOptions, host))
    return diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
  }
  t.strictSame(check(translated.map(([, translation]) => translation)), [])
  t.match(check([{ call: { path: '/a', maxBody: 1 }, response: { kind: 'object' } }]), [/maxBody/])
  t.match(check([{ call: { path: '/a' }, response: { kind: 'thing' } }]), [/thing/])
  t.match(check([{ call: {}, response: { kind: 'object' } }]), [/path/])
})
