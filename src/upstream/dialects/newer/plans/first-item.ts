import type { Reply } from '../conversation.ts'

/** Returns the first of the items of a reply if it is an object. */
export function firstItem({ content }: Reply): Readonly<Record<string, unknown>> | undefined {
  const item = content.kind === 'success' ? content.items?.[0] : undefined
  return typeof item === 'object' && item !== null ? (item as Readonly<Record<string, unknown>>) : undefined
}
