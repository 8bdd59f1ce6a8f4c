/** Random rows and queries of the collections in memory. */
import fc from 'fast-check'
import type { Cell, Collection } from '../../../support/engine/arrays.ts'
import type { Item } from './array-oracle.ts'
import type { Vocabulary } from './queries.ts'
import { MEMBERS, TEXTS, TIMES } from './rows.ts'

const WORDS = ['enabled', 'disabled', 'master', 'worker', 'error', 'info', ...TIMES.slice(0, 3)] as const
const words = fc.constantFrom(...TEXTS, ...WORDS)
const numbers = fc.oneof(fc.integer({ min: -2, max: 15 }), fc.constantFrom(2.5, 100, 5710, '5', 'five'))

function cellOf(cell: Cell): fc.Arbitrary<unknown> {
  switch (cell) {
    case 'text':
      return words
    case 'number':
      return numbers
    case 'flag':
      return fc.boolean()
    case 'list':
      return fc.array(fc.constantFrom<unknown>(...MEMBERS, ...WORDS, 7), { maxLength: 3 })
    case 'object':
      return fc.record({ category: words, depth: numbers, of: fc.array(words, { maxLength: 2 }) }, { requiredKeys: [] })
    case 'mixed':
      return fc.oneof(words, numbers, fc.boolean())
  }
}

export function itemsOf({ cells }: Collection): fc.Arbitrary<readonly Item[]> {
  if (!cells) return fc.array(words, { maxLength: 12 })
  const members = Object.entries(cells).map(([name, cell]) => [name, fc.option(cellOf(cell), { freq: 8 })] as const)
  return fc.array(fc.record(Object.fromEntries(members), { requiredKeys: [] }), { maxLength: 12 })
}

export function arrayVocabulary({ cells = {}, parameters = {}, selectable }: Collection): Vocabulary {
  const own: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
    Object.entries(parameters).map(([name, { values, everything, range }]) => {
      if (range) return [name, ['0-5', '5', '3-12', '12-3', '100', '-1', 'high']]
      return [name, [...(values ?? [...MEMBERS, ...WORDS]), ...(everything ? [everything] : []), 'other']]
    }),
  )
  const plain = Object.keys(cells).filter((name) => cells[name] === 'text' || cells[name] === 'list')
  const values = [...TEXTS, ...WORDS, ...MEMBERS]
  return {
    fields: Object.keys(cells).length > 0 ? Object.keys(cells) : ['text'],
    valuesOf: () => values,
    filters: {
      ...Object.fromEntries(plain.map((name) => [name, values])),
      ...(plain.length === 0 && { text: values }),
      ...own,
    },
    searches: [...values, '001', 'TRUE', 'rue', '2.5'],
    ...(!selectable && { refusesSelect: true }),
  }
}
