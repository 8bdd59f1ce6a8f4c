/** The command `mcp` as a process, with the client of the SDK. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { eventually } from '../../../test/support/eventually.ts'

interface Test {
  testdir(fixture: Record<string, never>): string
  teardown(fn: () => unknown): unknown
}

const PROGRAM = new URL('../../../dist/cli.js', import.meta.url).pathname

/** Returns the options for a user of the edge under test. */
export function credentials(folder: string, user = 'admin', password = `${user}-pw`): readonly string[] {
  const file = join(folder, `${user}-password`)
  writeFileSync(file, `${password}\n`, { mode: 0o600 })
  return ['--user', user, '--password-file', file]
}

export interface Connected {
  readonly client: Client
  /** What the server has shown to the person who runs it. */
  readonly shown: () => string
  call(name: string, args?: Record<string, unknown>): Promise<Result>
}

export interface Result {
  readonly isError: boolean
  readonly texts: readonly string[]
  /** The first block of a read. */
  readonly facts: Readonly<Record<string, unknown>>
  /** The text between the delimiters of the last block. */
  readonly data: string
}

export function resultOf({ content, isError = false }: CallToolResult): Result {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  const [first = ''] = texts
  const line = first.split('\n').find((each) => each.startsWith('{'))
  return { isError, texts, facts: line === undefined ? {} : JSON.parse(line), data: unmark(texts.at(-1) ?? '') ?? '' }
}

/** Returns the text between the delimiters; `undefined` if it is not marked exactly as it must be. */
export function unmark(text: string): string | undefined {
  const [, name, data = ''] = /^<(data-[0-9a-f]{24})>\n([^<>]*)\n<\/\1>$/.exec(text) ?? []
  return name === undefined ? undefined : data
}

/** Starts the program with the options and connects a client over standard input and output. */
export async function connect(
  t: Test,
  args: readonly string[],
  client = new Client({ name: 'test', version: '1' }),
): Promise<Connected> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'mcp', ...args],
    stderr: 'pipe',
  })
  let shown = ''
  transport.stderr?.on('data', (chunk) => {
    shown += String(chunk)
  })
  t.teardown(() => client.close())
  await client.connect(transport)
  await eventually(() => /serving \d+ reads/.test(shown))
  return {
    client,
    shown: () => shown,
    call: async (name, args = {}) => resultOf((await client.callTool({ name, arguments: args })) as CallToolResult),
  }
}
