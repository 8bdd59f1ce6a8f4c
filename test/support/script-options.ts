/**
 * The options of the scripts that package.json starts. One table for each script gives the values, the text of `--help`,
 * and an error of one line with exit code 2 for a wrong option.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

interface ValueByKind {
  readonly flag: boolean
  readonly text: string | undefined
  readonly number: number | undefined
  readonly pattern: RegExp | undefined
  /** The folder of a built edge, such as the `dist` of a release. */
  readonly build: string | undefined
}

export interface ScriptOption {
  readonly kind: keyof ValueByKind
  /** The name of the value in `--help`, such as `SECONDS`; default by kind. */
  readonly value?: string
  readonly meaning: string
}

export interface Script<Options> {
  /** As in `npm run NAME`. */
  readonly name: string
  readonly purpose: string
  readonly options: Options
  /** The name of the arguments without an option in `--help`; absent: such arguments are an error. */
  readonly rest?: string
}

type AnyScript = Script<Readonly<Record<string, ScriptOption>>>

export interface ScriptValues<Options extends Readonly<Record<string, ScriptOption>>> {
  readonly values: { readonly [Name in keyof Options]: ValueByKind[Options[Name]['kind']] }
  readonly rest: readonly string[]
  /** Ends the process with code 2 and this message. */
  refuse(message: string): never
}

const VALUE_NAMES = { flag: '', text: 'TEXT', number: 'N', pattern: 'REGEXP', build: 'FOLDER' } as const

/** Reads the arguments of this process. Ends it after `--help`, and with code 2 if an argument is wrong. */
export function readOptions<const Options extends Readonly<Record<string, ScriptOption>>>(
  script: Script<Options>,
): ScriptValues<Options> {
  // A reader that ends early, as in `npm run sizes | head`, is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  const refuse = (message: string): never => {
    console.error(`npm run ${script.name}: ${message}; "npm run ${script.name} -- --help" lists the options`)
    process.exit(2)
  }
  const { values, positionals } = parse(script, refuse)
  if (values.help) {
    console.log(helpOf(script))
    process.exit(0)
  }
  const read = Object.entries(script.options).map(([name, { kind }]) => {
    const text = values[name]
    return [
      name,
      typeof text === 'string' ? parseValue(kind, name, text, refuse) : kind === 'flag' ? text === true : text,
    ]
  })
  return { values: Object.fromEntries(read) as ScriptValues<Options>['values'], rest: positionals, refuse }
}

interface ParsedArguments {
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  readonly positionals: readonly string[]
}

function parse({ options, rest }: AnyScript, refuse: (message: string) => never): ParsedArguments {
  const types = Object.entries(options).map(([name, { kind }]) => [
    name,
    { type: kind === 'flag' ? ('boolean' as const) : ('string' as const) },
  ])
  try {
    const { values, positionals } = parseArgs({
      options: { ...Object.fromEntries(types), help: { type: 'boolean' } },
      allowPositionals: rest !== undefined,
    })
    return { values: values as ParsedArguments['values'], positionals }
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ')
    return refuse(sentence.charAt(0).toLowerCase() + sentence.slice(1))
  }
}

function parseValue(
  kind: ScriptOption['kind'],
  name: string,
  text: string,
  refuse: (message: string) => never,
): unknown {
  if (kind === 'number') {
    const number = Number(text)
    return text.trim() !== '' && Number.isFinite(number) && number >= 0
      ? number
      : refuse(`--${name} needs a number from 0, got "${text}"`)
  }
  if (kind === 'build' && !existsSync(join(text, 'cli.js')))
    return refuse(`--${name} needs a folder with cli.js, got "${text}"`)
  if (kind !== 'pattern') return text
  try {
    return new RegExp(text)
  } catch {
    return refuse(`--${name} needs a regular expression, got "${text}"`)
  }
}

function helpOf({ name, purpose, options, rest }: AnyScript): string {
  const rows = Object.entries(options).map(([option, { kind, value, meaning }]) => [
    `--${option} ${value ?? VALUE_NAMES[kind]}`.trimEnd(),
    meaning,
  ])
  rows.push(['--help', 'print this text'])
  const width = Math.max(...rows.map(([left = '']) => left.length))
  const lines = rows.map(([left = '', meaning]) => `  ${left.padEnd(width)}  ${meaning}`)
  return [`Usage: npm run ${name} -- [options]${rest === undefined ? '' : ` [${rest}]`}`, purpose, '', ...lines].join(
    '\n',
  )
}
