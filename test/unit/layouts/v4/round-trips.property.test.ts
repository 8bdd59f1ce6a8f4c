/** What the v4 layout renames on the way to the node comes back under its v3 name, and values keep their meaning. */
import fc from 'fast-check'
import t from 'tap'
import { type Source, sources } from '../../../../src/collections/sources.ts'
import { renameInSelect, v4Value } from '../../../../src/collections/v4-names.ts'
import { catalogue } from '../../../../src/contracts/index.ts'
import type { RowRule } from '../../../../src/contracts/translations/translation.ts'
import { createRowConverter, values } from '../../../../src/layouts/v4/rows.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, success } from './recorded.ts'

type Row = Record<string, unknown>

interface Collection {
  readonly id: string
  readonly rows: RowRule
  /** The v3 names of its fields. */
  readonly fields: readonly string[]
}

/** v3 fields that depend on the value of another one. */
const derivedIn = ({ fields = {} }: RowRule) =>
  Object.values(fields).flatMap(({ also }) => (also === undefined ? [] : [also.to]))

/** Collections whose rows have fields that a client can select. */
const collections: readonly Collection[] = catalogue.flatMap(({ method, path, translation: v4 }) => {
  const response = v4?.response
  if (response === undefined || !('rows' in response) || response.rows === undefined) return []
  const { rows } = response
  const source: Source | undefined = (sources as Record<string, Source>)[rows.source ?? '']
  if (source?.engine !== 'database' || ('value' in response && response.value !== undefined)) return []
  const rules = Object.entries(rows.fields ?? {})
  const left = [...rules.flatMap(([name, rule]) => (rule.dropped ? [name] : [])), ...derivedIn(rows)]
  return [{ id: `${method} ${path}`, rows, fields: Object.keys(source.fields).filter((name) => !left.includes(name)) }]
})

t.test('most collections are of this kind', async (t) => t.ok(collections.length >= 30, `${collections.length}`))

/** Distinct v3 fields of a collection. */
const selection = ({ fields }: Collection) => fc.uniqueArray(fc.constantFrom(...fields), { minLength: 1, maxLength: 6 })
const anyCollection = fc.constantFrom(...collections)
const anySelection = anyCollection.chain((of) => fc.tuple(fc.constant(of), selection(of)))

function place(row: Row, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path
  if (rest.length === 0) row[name] = value
  else {
    const inner = (row[name] ?? {}) as Row
    row[name] = inner
    place(inner, rest, value)
  }
}

/** The names of all values, with dots for nested ones. Inventory has `scan_id` in parameters and `scan: {id}` in rows. */
function namesIn(row: Row, prefix = ''): string[] {
  return Object.entries(row).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null ? namesIn(value as Row, `${prefix}${name}.`) : [`${prefix}${name}`],
  )
}

const comparable = (names: readonly string[]) => names.map((name) => name.replaceAll('_', '.')).sort()

t.test('selected fields come back under the names that were selected', async () => {
  fc.assert(
    fc.property(anySelection, ([{ id, rows }, fields]) => {
      const row: Row = {}
      for (const name of renameInSelect(fields.join(','), rows).split(',')) place(row, name.split('.'), 'x')
      const converted = namesIn(createRowConverter(rows)(row) as Row)
      const got = comparable(converted.filter((name) => !derivedIn(rows).includes(name)))
      if (got.join() !== comparable(fields).join()) throw new Error(`${id}: ${fields} → ${got}`)
    }),
  )
})

/** Agents are sorted by their last sign of life in place of their status. */
function sortFieldOf(name: string, rows: RowRule): string {
  return rows.source === 'agents' && name === 'status' ? 'lastKeepAlive' : renameInSelect(name, rows)
}

t.test('a sort keeps its signs and the order of its fields', async () => {
  const signed = anySelection.chain(([of, fields]) =>
    fc.tuple(
      fc.constant(of),
      fc.tuple(...fields.map((name) => fc.constantFrom('', '+', '-').map((sign) => sign + name))),
    ),
  )
  fc.assert(
    fc.property(signed, ([{ rows }, fields]) => {
      const sent = v4Value('sort', fields.join(','), rows)?.split(',') ?? []
      const again = fields.map((field) => field.replace(/[^+-].*/, (name) => sortFieldOf(name, rows)))
      if (sent.join() !== again.join()) throw new Error(`${fields} → ${sent}`)
    }),
  )
})

t.test('different fields stay different', async (t) => {
  for (const { id, rows, fields } of collections) {
    t.equal(new Set(fields.map((name) => renameInSelect(name, rows))).size, fields.length, id)
  }
})

t.test('conditions keep operators, values and brackets', async () => {
  const condition = (of: Collection) =>
    fc
      .tuple(
        fc.constantFrom(...of.fields),
        fc.constantFrom('=', '!=', '<', '>', '~'),
        fc.stringMatching(/^[A-Z0-9]{1,8}$/),
      )
      .map(([name, operator, value]) => ({ name, operator, value }))
  const conditions = anyCollection.chain((of) =>
    fc.tuple(fc.constant(of), fc.array(condition(of), { minLength: 1, maxLength: 4 }), fc.constantFrom(',', ';')),
  )
  fc.assert(
    fc.property(conditions, ([{ rows }, parts, join]) => {
      const write = (nameOf: (name: string) => string) =>
        parts.map(({ name, operator, value }) => `${nameOf(name)}${operator}${value}`).join(join)
      const sent = v4Value(
        'q',
        write((name) => name),
        rows,
      )
      const wanted = write((name) => renameInSelect(name, rows))
      if (sent?.replace(/[()]/g, '') !== wanted) throw new Error(`${sent} instead of ${wanted}`)
    }),
  )
})

const moment = fc.date({
  min: new Date('1970-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59Z'),
  noInvalidDate: true,
})
const zone = fc.constantFrom('Z', '+00:00')

t.test('dates name the same second in both layouts', async () => {
  fc.assert(
    fc.property(moment, zone, (date, suffix) => {
      const seconds = date.toISOString().slice(0, 19)
      const v3 = String(values.date(seconds + suffix))
      const slashed = String(values.slashedDate(seconds + suffix))
      if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(v3)) throw new Error(v3)
      if (`${v3.replace(' ', 'T')}` !== seconds) throw new Error(v3)
      if (slashed.replaceAll('/', '-') !== v3) throw new Error(slashed)
      if (values.date(v3) !== v3) throw new Error('a v3 date changed')
    }),
  )
})

t.test('a fraction of a second is kept where the v3 layout has one', async () => {
  fc.assert(
    fc.property(moment, fc.nat({ max: 999_999 }), zone, (date, micros, suffix) => {
      const fraction = `.${String(micros).padStart(6, '0')}`
      const seconds = date.toISOString().slice(0, 19)
      const v3 = `${seconds.replace('T', ' ')}`
      if (values.preciseDate(seconds + fraction + suffix) !== v3 + fraction) throw new Error(seconds)
      if (values.date(seconds + fraction + suffix) !== v3) throw new Error(seconds)
    }),
  )
})

t.test('values that are no date, no text or no word stay', async () => {
  const others = fc.oneof(fc.constantFrom('n/a', '', '2026-11-22', 'yesterday', null), fc.integer(), fc.boolean())
  const rules = ['date', 'slashedDate', 'preciseDate', 'agentStatus', 'daemon'] as const
  fc.assert(
    fc.property(others, fc.constantFrom(...rules), (value, rule) => {
      if (values[rule](value) !== value) throw new Error(`${rule}: ${String(value)}`)
    }),
  )
})

t.test('the status of an agent can be asked for as it is answered', async (t) => {
  for (const v4 of ['active', 'pending', 'disconnected', 'never_connected']) {
    const v3 = String(values.agentStatus(v4))
    for (const query of [{ status: v3 }, { status: v3.replace(' ', '').toLowerCase() }, { q: `status=${v3}` }]) {
      const { calls } = await ask(edgeRequest('GET', '/agents', { query }), () => success([]))
      t.match(calls[0]?.toLowerCase(), new RegExp(`status=${v4}$`), JSON.stringify(query))
    }
  }
})

t.test('the entries of a daemon can be asked for by the tag that they have', async () => {
  const tag = fc.constantFrom('wazuh-remoted', 'wazuh-analysisd', 'wazuh-db', 'wazuh-modulesd', 'wazuh-clusterd', 'sca')
  await fc.assert(
    fc.asyncProperty(tag, async (v4) => {
      const query = { category: String(values.daemon(v4)) }
      const { calls } = await ask(edgeRequest('GET', '/manager/logs', { query }), () => success([]))
      if (!calls.some((call) => call.includes(`tag=${v4}`))) throw new Error(`${query.category}: ${calls}`)
    }),
  )
})

t.test('every id is sent with three digits or more, and none twice as long as it must be', async () => {
  const id = fc.tuple(fc.nat({ max: 12_000 }), fc.nat({ max: 3 })).map(([number, zeros]) => '0'.repeat(zeros) + number)
  await fc.assert(
    fc.asyncProperty(fc.array(id, { minLength: 1, maxLength: 30 }), async (ids) => {
      const body = { kind: 'fields', fields: { ids } } as const
      const { calls } = await ask(edgeRequest('POST', '/agents/restart', { body }), () => success(['001']))
      const sent = calls.flatMap((call) => (/agents_list=([^&]*)/.exec(call)?.[1] ?? '').split(','))
      const wanted = ids.map((one) => String(Number(one)).padStart(3, '0'))
      if ([...new Set(sent)].sort().join() !== [...new Set(wanted)].sort().join()) throw new Error(`${ids} → ${sent}`)
    }),
  )
})
