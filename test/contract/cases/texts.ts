/** Makes the bytes that a text of a row describes. */
import { gzipSync } from 'node:zlib'
import type { Text } from './vocabulary.ts'

/** Returns the value of a placeholder; `undefined`: there is none with this name. */
export type Values = (name: string) => Promise<string> | string | undefined

export async function bytesOf(text: Text, values: Values): Promise<Buffer> {
  if (Array.isArray(text)) return Buffer.concat(await Promise.all(text.map((piece) => bytesOf(piece, values))))
  if (typeof text === 'string') return Buffer.from(await fill(text, values))
  if ('repeat' in text) return Buffer.from((await fill(text.repeat, values)).repeat(text.times))
  if ('hex' in text) return Buffer.from(text.hex.replaceAll(' ', ''), 'hex')
  if ('base64' in text) {
    return Buffer.from(Buffer.from(await fill(text.base64, values), text.charset ?? 'utf8').toString('base64'))
  }
  let bytes: Buffer = Buffer.from((await fill(text.gzip, values)).repeat(text.times ?? 1))
  for (let layer = 0; layer < (text.layers ?? 1); layer += 1) bytes = gzipSync(bytes)
  return bytes
}

const PLACEHOLDER = /\$\{([^}]+)\}/g

/** Replaces `${name}`. Throws if a name has no value. */
export async function fill(text: string, values: Values): Promise<string> {
  const names = [...new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name))]
  const found = new Map(await Promise.all(names.map(async (name) => [name, await values(name)] as const)))
  return text.replaceAll(PLACEHOLDER, (_, name: string) => {
    const value = found.get(name)
    if (value === undefined) throw new Error(`no value for \${${name}}`)
    return value
  })
}

/** Replaces placeholders in the strings of a tree. */
export async function fillTree<T>(tree: T, values: Values): Promise<T> {
  if (typeof tree === 'string') return (await fill(tree, values)) as T
  if (typeof tree !== 'object' || tree === null) return tree
  if (Array.isArray(tree)) return (await Promise.all(tree.map((item) => fillTree(item, values)))) as T
  const entries = Object.entries(tree).map(async ([key, value]) => [key, await fillTree(value, values)] as const)
  return Object.fromEntries(await Promise.all(entries)) as T
}

/** Returns the message, with the length of what follows its last empty line in place of `${length}` in its heads. */
export async function messageOf(text: Text, values: Values): Promise<Buffer> {
  const marked = await bytesOf(text, (name) => (name === 'length' ? LENGTH : values(name)))
  const end = marked.lastIndexOf('\r\n\r\n')
  const at = marked.indexOf(LENGTH)
  if (at < 0) return marked
  return Buffer.concat([
    marked.subarray(0, at),
    Buffer.from(String(marked.length - end - 4)),
    marked.subarray(at + LENGTH.length),
  ])
}

const LENGTH = '\u0000length\u0000'
