/** The script that replaces the texts of counters. */
import { NOW, script } from './scripts.ts'

/** The drains are the longest text. */
const MAX_TEXT_BYTES = 65_536

/**
 * Replaces texts if they are those that the replica knows, each change in one step and apart from the others. A change
 * that was computed for another time, because the clock of Redis was not known, is not carried out.
 * KEYS: of all changes. ARGV: time of the replica, greatest deviation, then for each change the number of its keys, and for
 * each of them the known text, the new one and its lifetime. Texts are empty if there is none. A value that no replica
 * writes is deleted: one of another type, a long one, or one that is not ASCII, which the replica could not send back as it
 * is. Returns the time of Redis, and for each change 1 (carried out), or the texts in Redis.
 */
export const REPLACE_TEXTS = script(
  NOW,
  `
local results = { now }
local isOnTime = math.abs(now - ARGV[1]) <= tonumber(ARGV[2])
local key, arg = 0, 3
while arg <= #ARGV do
  local count, texts, isSame = tonumber(ARGV[arg]), {}, isOnTime
  for each = 1, count do
    local text = redis.pcall('GET', KEYS[key + each]) or ''
    if type(text) ~= 'string' or #text > ${MAX_TEXT_BYTES} or string.find(text, '[\\128-\\255]') then
      redis.call('DEL', KEYS[key + each])
      text = ''
    end
    texts[each] = text
    isSame = isSame and text == ARGV[arg + 3 * each - 2]
  end
  if isSame then
    for each = 1, count do
      local at = arg + 3 * each - 2
      if ARGV[at + 1] == '' then
        if ARGV[at] ~= '' then redis.call('DEL', KEYS[key + each]) end
      elseif ARGV[at + 1] ~= ARGV[at] then
        redis.call('SET', KEYS[key + each], ARGV[at + 1], 'PX', ARGV[at + 2])
      end
    end
  end
  results[#results + 1] = isSame and 1 or texts
  key, arg = key + count, arg + 3 * count + 1
end
return results`,
)
