/** Parses rules and decoders from the XML files of a node, uploaded and shipped ones alike. */
import { FrameworkError } from '../model.ts'
import { memo } from './memo.ts'
import { elements, parseXml, textOf, type XmlElement } from './xml.ts'

/** Conditions and options of a rule or decoder; a repeated name has a list. */
export type Details = Readonly<Record<string, unknown>>

interface FromFile {
  readonly file: string
  readonly path: string
  readonly status: 'enabled' | 'disabled'
}

export type RulesetFile = FromFile & Readonly<Record<string, unknown>>
export type Rule = FromFile & RuleBody & Readonly<Record<string, unknown>>
export type Decoder = FromFile & DecoderBody & Readonly<Record<string, unknown>>

const standards = {
  pci: 'pci_dss_',
  gdpr: 'gdpr_',
  hipaa: 'hipaa_',
  'nist-800-53': 'nist_800_53_',
  gpg13: 'gpg13_',
} as const

export type Standard = keyof typeof standards

interface RuleBody extends Readonly<Record<Standard, readonly string[]>> {
  readonly id: number
  readonly description: string
  readonly level: number
  readonly groups: readonly string[]
  readonly details: Details
}

interface DecoderBody {
  readonly name: string
  /** The position in the file. */
  readonly position: number
  readonly details: Details
}

type Files = ReadonlyMap<string, string>

/** Returns all rules by id. Throws 1201 if any file is invalid, as in the real API. */
export function rulesOf(files: Files): Rule[] {
  const rules = ruleFilesOf(files).flatMap((from) => {
    const text = textIn(files, from)
    const bodies = read(from, [1201, 'Error reading rule files'], () => rulesOnce(text, () => readRules(text)))
    return bodies.map(({ id, description, level, ...rest }): Rule => {
      return { file: from.file, path: from.path, id, description, level, status: from.status, ...rest }
    })
  })
  return rules.sort((a, b) => a.id - b.id)
}

/** Returns all decoders by file and position. Throws 1501 if any file is invalid. */
export function decodersOf(files: Files): Decoder[] {
  return decoderFilesOf(files).flatMap((from) => {
    const text = textIn(files, from)
    const bodies = read(from, [1501, 'Error reading decoder files'], () => decodersOnce(text, () => readDecoders(text)))
    return bodies.map(({ name, position, details }): Decoder => {
      return { file: from.file, path: from.path, name, position, status: from.status, details }
    })
  })
}

export function ruleFilesOf(files: Files): RulesetFile[] {
  return filesIn(files, ['ruleset/rules', 'etc/rules'], 'rule_exclude')
}

export function decoderFilesOf(files: Files): RulesetFile[] {
  return filesIn(files, ['ruleset/decoders', 'etc/decoders'], 'decoder_exclude')
}

/** By file name. Files that the main configuration excludes are disabled. */
function filesIn(files: Files, folders: readonly string[], excluding: string): RulesetFile[] {
  const configuration = files.get('etc/ossec.conf') ?? ''
  const found: RulesetFile[] = []
  for (const name of files.keys()) {
    const slash = name.lastIndexOf('/')
    const [path, file] = [name.slice(0, slash), name.slice(slash + 1)]
    if (!folders.includes(path) || !file.endsWith('.xml')) continue
    const excluded = configuration.includes(`<${excluding}>${file}</${excluding}>`)
    found.push({ file, path, status: excluded ? 'disabled' : 'enabled' })
  }
  return found.sort((a, b) => (a.file < b.file ? -1 : 1))
}

// The key is the text: nodes share most of their files, and an uploaded text is a new key.
const rulesOnce = memo<readonly RuleBody[]>(500)
const decodersOnce = memo<readonly DecoderBody[]>(500)

function read<T>({ path, file }: FromFile, [code, message]: readonly [number, string], reader: () => T): T {
  try {
    return reader()
  } catch (fault) {
    throw new FrameworkError(code, `${message}: ${path}/${file}. ${fault instanceof Error ? fault.message : fault}`)
  }
}

function textIn(files: Files, { path, file }: FromFile): string {
  return files.get(`${path}/${file}`) ?? ''
}

function readRules(text: string): readonly RuleBody[] {
  return elements(parseXml(text), 'group').flatMap((group) =>
    elements(group.children, 'rule').map((rule) => readRule(rule, split(group.attributes.name ?? ''))),
  )
}

function readRule(rule: XmlElement, outer: readonly string[]): RuleBody {
  const { id, level, ...attributes } = rule.attributes
  if (id === undefined || level === undefined || !/^\d+$/.test(id + level)) throw new Error('A rule has no id or level')
  const descriptions = elements(rule.children, 'description').map(textOf)
  const own = elements(rule.children, 'group').flatMap((group) => split(textOf(group)))
  const all = [...new Set([...own, ...outer])]
  return {
    id: Number(id),
    description: descriptions.join(''),
    level: Number(level),
    groups: all.filter((group) => !Object.values(standards).some((prefix) => group.startsWith(prefix))),
    pci: requirements(all, 'pci'),
    gdpr: requirements(all, 'gdpr'),
    hipaa: requirements(all, 'hipaa'),
    'nist-800-53': requirements(all, 'nist-800-53'),
    gpg13: requirements(all, 'gpg13'),
    details: { ...attributes, ...readDetails(rule, ['description', 'group']) },
  }
}

function requirements(groups: readonly string[], standard: Standard): string[] {
  const prefix = standards[standard]
  return groups.filter((group) => group.startsWith(prefix)).map((group) => group.slice(prefix.length))
}

function readDecoders(text: string): readonly DecoderBody[] {
  return elements(parseXml(text), 'decoder').map((decoder, position) => {
    const { name, ...attributes } = decoder.attributes
    if (name === undefined) throw new Error('A decoder has no name')
    return { name, position, details: { ...attributes, ...readDetails(decoder, []) } }
  })
}

function readDetails(element: XmlElement, without: readonly string[]): Details {
  const details: Record<string, unknown> = {}
  for (const child of elements(element.children)) {
    if (without.includes(child.name)) continue
    const { type } = child.attributes
    const value = child.name === 'info' ? { name: textOf(child), ...(type ? { type } : {}) } : textOf(child)
    const before = details[child.name]
    details[child.name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]
  }
  return details
}

function split(names: string): string[] {
  return names
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
