/** The calls about rules and decoders. */
import { decoderFilesOf, ruleFilesOf } from '../../data/ruleset.ts'
import type { Texts } from '../answers.ts'
import type { Call } from '../model.ts'
import { decoders, files, requirement, rules, valuesOf } from './ruleset-rows.ts'

const readsRules = { action: 'rules:read', type: 'rule:file', named: 'none' } as const
const readsDecoders = { action: 'decoders:read', type: 'decoder:file', named: 'none' } as const
const ruleTexts: Texts = {
  all: 'All selected rules were returned',
  some: 'Some rules were not returned',
  none: 'No rule was returned',
}
const decoderTexts: Texts = {
  all: 'All selected decoders were returned',
  some: 'Some decoders were not returned',
  none: 'No decoder was returned',
}

export const rulesetCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/rules',
    runs: 'here',
    needs: [readsRules],
    texts: ruleTexts,
    cached: true,
    cost: 400,
    run: rules,
  },
  {
    method: 'GET',
    path: '/rules/groups',
    runs: 'here',
    needs: [readsRules],
    texts: {
      all: 'All groups in rules were returned',
      some: 'Some groups in rules were not returned',
      none: 'No groups in rules were returned',
    },
    cached: true,
    cost: 400,
    run: valuesOf('groups'),
  },
  {
    method: 'GET',
    path: '/rules/requirement/{requirement}',
    runs: 'here',
    needs: [readsRules],
    texts: ruleTexts,
    cached: true,
    cost: 400,
    run: requirement,
  },
  {
    method: 'GET',
    path: '/rules/files',
    runs: 'here',
    needs: [readsRules],
    texts: {
      all: 'All rule files were returned',
      some: 'Some rule files were not returned',
      none: 'No rule files were returned',
    },
    cached: true,
    run: files(ruleFilesOf),
  },
  {
    method: 'GET',
    path: '/decoders',
    runs: 'here',
    needs: [readsDecoders],
    texts: decoderTexts,
    cost: 130,
    run: decoders(false),
  },
  {
    method: 'GET',
    path: '/decoders/parents',
    runs: 'here',
    needs: [readsDecoders],
    texts: decoderTexts,
    cost: 130,
    run: decoders(true),
  },
  {
    method: 'GET',
    path: '/decoders/files',
    runs: 'here',
    needs: [readsDecoders],
    texts: {
      all: 'All decoder files were returned',
      some: 'Some decoder files were not returned',
      none: 'No decoder files were returned',
    },
    run: files(decoderFilesOf),
  },
]
