/** The formats of texts, as the manager has them. */

const SYMBOLS = /^[\w,*<>!\-.+\s:/()[\]'"|=~#]+$/

/** Texts with two dots in a row are no paths. */
const NO_PARENT = /\.\./

const patterns = {
  active_response_command: /^!?[\w\-./]+$/,
  alphanumeric: /^[\w,\-.+\s:]+$/,
  alphanumeric_symbols: SYMBOLS,
  base64: /^[A-Za-z0-9+/]+={0,2}$/,
  cdb_filename_path: /^[\w-]+$/,
  date: /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/,
  'date-time': /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/,
  get_dirnames_path: /^(?:etc\/(?:decoders|rules|lists)|ruleset\/(?:decoders|rules))(?:\/[\w\-.]+)*\/?$/,
  group_names: /^[\w.-]+$/,
  group_names_or_all: /^[\w.-]+$/,
  hash: /^(?:[\da-fA-F]{32}|[\da-fA-F]{40}|[\da-fA-F]{56}|[\da-fA-F]{64}|[\da-fA-F]{96}|[\da-fA-F]{128})?$/,
  names: /^[\w\-.%]+$/,
  numbers: /^\d+$/,
  numbers_or_all: /^(?:\d+|all)$/,
  password: /^/,
  path: /^[\w\-.\\/:]+$/,
  paths: /^[\w\-.\\/:]+$/,
  range: /^(?:\d+|\d{1,2}-\d{1,2})$/,
  search: /^[^;|&^*>]+$/,
  sort: /^[\w\-,+.\s]+$/,
  symbols_alphanumeric_param: SYMBOLS,
  timeframe: /^(?:\d+[dhms]?)?$/,
  wazuh_key: /^[a-zA-Z0-9]+$/,
  wazuh_version: /^(?:[A-Za-z]+ )?v?\d+\.\d+\.\d+$/i,
  wpk_path: /^[\w\-.\\/:]+\.wpk$/,
  xml_filename: /^[\w-]+\.xml(?:,[\w-]+\.xml)*$/,
  xml_filename_path: /^[\w-]+\.xml$/,
} as const

export type Format = keyof typeof patterns

const DOTS: ReadonlySet<string> = new Set(['.', '..'])

/** Returns whether a text has the format. The strength of a password is left to the node, which names what it lacks. */
export function hasFormat(format: Format, text: string): boolean {
  if (!patterns[format].test(text)) return false
  switch (format) {
    case 'group_names':
      return !DOTS.has(text) && text !== 'all'
    case 'group_names_or_all':
      return !DOTS.has(text)
    case 'get_dirnames_path':
    case 'active_response_command':
    case 'wpk_path':
      return !NO_PARENT.test(text)
    default:
      return true
  }
}
