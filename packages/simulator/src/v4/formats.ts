/** The formats of values, by the names that errors have. */

export const formats = {
  alphanumeric: /^[\w,\-.+\s:]+$/,
  alphanumeric_symbols: /^[\w,*<>!\-.+\s:/()[\]'"|=~#]+$/,
  symbols_alphanumeric_param: /^[\w,*<>!\-.+\s:/()[\]'"|=~#]+$/,
  numbers: /^\d+$/,
  numbers_or_all: /^(?:\d+|all)$/,
  names: /^[\w\-.%]+$/,
  group_names: /^(?!^(?:\.{1,2}|all)$)[\w.-]+$/,
  group_names_or_all: /^(?!^\.{1,2}$)[\w.-]+$/,
  search: /^[^;|&^*>]+$/,
  sort: /^[\w\-,\s+.]+$/,
  timeframe: /^\d+[dhms]?$/,
  date: /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])$/,
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}/,
  wazuh_key: /^[a-zA-Z0-9]+$/,
  wazuh_version: /^(?:wazuh )?v?\d+\.\d+\.\d+$/i,
  wpk_path: /^\/var\/ossec\/(?!.*\.\.\/)[\w\-.\\/:]+\.wpk$/,
  xml_filename_path: /^[\w.-]+\.xml$/,
  xml_filename: /^[\w\-.,]+\.xml(?:,[\w\-.]+\.xml)*$/,
  cdb_filename_path: /^[\w-]+$/,
  get_dirnames_path: /^(?:(?:etc|ruleset)\/(?:decoders|rules)[\w\-/]*|etc\/lists\/*[\w\-/]*)$/,
  active_response_command: /^!?[\w.-]+$/,
  base64: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  hash: /^(?:[\da-fA-F]{32}|[\da-fA-F]{40}|[\da-fA-F]{56}|[\da-fA-F]{64}|[\da-fA-F]{96}|[\da-fA-F]{128})?$/,
  range: /^\d+(?:-\d{1,2})?$/,
  path: /^[\w\-.\\/:\s]+$/,
  paths: /^[\w\-.\\/:]+$/,
  password: /^/,
} as const

export type Format = keyof typeof formats

export function isFormat(name: string): name is Format {
  return Object.hasOwn(formats, name)
}
