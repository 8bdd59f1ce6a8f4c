/** Translations of rules, decoders and CDB lists. */
import type { ErrorRule, FieldRule, ParamRule, RowRule, Translation } from './translation.ts'

const file: Readonly<Record<string, FieldRule>> = {
  filename: { to: 'file' },
  relative_dirname: { to: 'path' },
}
const fileFilters: Readonly<Record<string, ParamRule>> = {
  file: { as: 'filename' },
  path: { as: 'relative_dirname' },
}
/** The classic layout has an empty collection where nothing has this name. */
const missing: Readonly<Record<number, ErrorRule>> = { 1208: 'empty', 1504: 'empty' }

const ruleRows: RowRule = {
  source: 'rules',
  fields: {
    ...file,
    pci_dss: { to: 'pci' },
    nist_800_53: { to: 'nist-800-53' },
    tsc: { dropped: true },
    mitre: { dropped: true },
    details: { value: 'patterns' },
  },
}

/** The filter by `nist-800-53` has that name there too, although the field has another one. */
const ruleFilters = { ...fileFilters, pci: { as: 'pci_dss' } }

export const rules: Translation = {
  call: { path: '/rules', params: ruleFilters },
  response: { kind: 'collection', rows: ruleRows },
}

export const rule: Translation = {
  call: { path: '/rules', fixed: { rule_ids: ':rule_id' } },
  response: { kind: 'collection', rows: ruleRows },
  errors: missing,
}

const decoderRows: RowRule = {
  source: 'decoders',
  fields: { ...file, details: { value: 'patterns' } },
}

/** The node sorts decoders by one field only. */
const decoderSort: ParamRule = { byEdge: 'list' }

export const decoders: Translation = {
  call: { path: '/decoders', params: { ...fileFilters, sort: decoderSort } },
  response: { kind: 'collection', rows: decoderRows },
}

export const decoder: Translation = {
  call: { path: '/decoders', fixed: { decoder_names: ':decoder_name' }, params: { sort: decoderSort } },
  response: { kind: 'collection', rows: decoderRows },
  errors: missing,
}

export const parentDecoders: Translation = {
  call: { path: '/decoders/parents', params: { sort: decoderSort } },
  response: { kind: 'collection', rows: decoderRows },
}

export const ruleFiles: Translation = {
  call: { path: '/rules/files', params: fileFilters },
  plan: 'download',
  file: '/rules/files/:file',
  response: { kind: 'collection', rows: { source: 'ruleFiles', fields: file } },
}

export const decoderFiles: Translation = {
  call: { path: '/decoders/files', params: fileFilters },
  plan: 'download',
  file: '/decoders/files/:file',
  response: { kind: 'collection', rows: { source: 'decoderFiles', fields: file } },
}

/** Rows are texts. */
function texts(path: string): Translation {
  return {
    call: { path },
    response: { kind: 'collection', rows: { source: 'catalogue' } },
  }
}

/** By the last segment of the classic path. */
export const ruleTexts = {
  groups: texts('/rules/groups'),
  pci: texts('/rules/requirement/pci_dss'),
  gdpr: texts('/rules/requirement/gdpr'),
  hipaa: texts('/rules/requirement/hipaa'),
  'nist-800-53': texts('/rules/requirement/nist-800-53'),
  gpg13: texts('/rules/requirement/gpg13'),
} as const satisfies Record<string, Translation>

/** The classic layout cuts pages of lists before it searches and sorts, and counts the rows of the page. */
const listParameters: Readonly<Record<string, ParamRule>> = { sort: { byEdge: true }, search: { byEdge: true } }

export const lists: Translation = {
  call: { path: '/lists', params: listParameters },
  plan: 'lists',
  response: {
    kind: 'collection',
    rows: { source: 'lists', joined: { to: 'path', of: ['relative_dirname', 'filename'] } },
    countsPage: true,
  },
}

export const listFiles: Translation = {
  call: { path: '/lists/files', params: listParameters },
  response: {
    kind: 'collection',
    rows: { source: 'listFiles', fields: { relative_dirname: { to: 'path' }, filename: { to: 'name' } } },
    countsPage: true,
  },
}
