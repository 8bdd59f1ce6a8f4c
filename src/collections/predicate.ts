/**
 * What a row must satisfy, in parts that read one field each: the same test serves rows, and columns in which each
 * different value is stored, and tested, once.
 */
import { type Element, fieldValue } from './value.ts'

export type Predicate =
  /** `holds` receives `fieldValue` of a row, so undefined for a missing value. It depends on nothing else. */
  | { readonly kind: 'field'; readonly field: string; readonly holds: (value: unknown) => boolean }
  /** Reads more than one field, or elements that are texts. */
  | { readonly kind: 'element'; readonly holds: RowPredicate }
  | { readonly kind: 'every' | 'some'; readonly of: readonly Predicate[] }
  | { readonly kind: 'not'; readonly of: Predicate }
type RowPredicate = (element: Element) => boolean

/** Returns the test of a field that a row without a value never satisfies. */
export function testValue(field: string, test: (value: unknown) => boolean): Predicate {
  return { kind: 'field', field, holds: (value) => value !== undefined && test(value) }
}

export function toRowPredicate(predicate: Predicate): RowPredicate {
  switch (predicate.kind) {
    case 'field': {
      const { field, holds } = predicate
      return (element) => holds(fieldValue(element, field))
    }
    case 'element':
      return predicate.holds
    case 'every': {
      const parts = predicate.of.map(toRowPredicate)
      return (element) => parts.every((part) => part(element))
    }
    case 'some': {
      const parts = predicate.of.map(toRowPredicate)
      return (element) => parts.some((part) => part(element))
    }
    case 'not': {
      const part = toRowPredicate(predicate.of)
      return (element) => !part(element)
    }
  }
}

/** Returns how many tests of values a predicate consists of. */
export function countTests(predicate: Predicate): number {
  switch (predicate.kind) {
    case 'field':
    case 'element':
      return 1
    case 'every':
    case 'some':
      return predicate.of.reduce((sum, part) => sum + countTests(part), 0)
    case 'not':
      return countTests(predicate.of)
  }
}
