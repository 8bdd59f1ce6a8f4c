import { type Test, type ValueTest, valueTest } from './condition.ts'
import { CollectionError } from './error.ts'
import type { Filter, Source } from './source.ts'
import { before, timeFrame } from './time.ts'
import { asNumber, asText, entry, valueAt } from './value.ts'

type Of<By extends Filter['by']> = Extract<Filter, { by: By }>

/** A test of one element by a named parameter. Throws the code of the rule for a value that it does not know. */
export function readFilter(name: string, value: string, source: Source, now: Date): Test {
  const filter = entry(source.filters, name) ?? { by: 'equal' }
  switch (filter.by) {
    case 'equal':
      return equal(filter, name, value, source, now)
    case 'range':
      return range(filter, value)
    case 'olderThan':
      return olderThan(filter, value, now)
  }
}

function equal(filter: Of<'equal'>, name: string, value: string, source: Source, now: Date): Test {
  if (filter.everything !== undefined && value.split(',').includes(filter.everything)) return () => true
  if (filter.allowed && !filter.allowed.values.includes(value)) throw new CollectionError(filter.allowed.code)
  const fields = filter.fields ?? [name]
  const tests = fields.map((field) => ({ field, fits: fitting(field, value, source, now) }))
  return (element) => {
    return tests.some(({ field, fits }) => {
      const found = valueAt(element, field)
      return found !== undefined && fits(found)
    })
  }
}

function fitting(field: string, value: string, source: Source, now: Date): ValueTest {
  if (source.engine === 'array') {
    return (found) => (Array.isArray(found) ? found.map(asText).includes(value) : asText(found) === value)
  }
  const kind = entry(source.fields, field) ?? 'text'
  const tests = value
    .split(',')
    .map((one) => valueTest(kind === 'date' || kind === 'day' ? 'text' : kind, '=', one, now))
  return (found) => tests.some((test) => test(found))
}

function range(filter: Of<'range'>, value: string): Test {
  const [, from, to = from] = /^([0-9]+)(?:-([0-9]+))?$/.exec(value) ?? []
  if (from === undefined) throw new CollectionError(1203)
  return (element) => {
    const number = asNumber(valueAt(element, filter.field))
    return number !== undefined && number >= Number(from) && number <= Number(to)
  }
}

function olderThan(filter: Of<'olderThan'>, value: string, now: Date): Test {
  const moment = before(now, timeFrame(value))
  return (element) => {
    const found = valueAt(element, filter.field) ?? valueAt(element, filter.orElse)
    return found !== undefined && asText(found) < moment
  }
}
