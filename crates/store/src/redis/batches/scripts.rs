//! Lua scripts for batches. Each script changes keys of one hash slot atomically.

/// KEYS: chunks. ARGV: expiration time, then number and bytes of each chunk. The field `last`
/// contains the highest number.
pub(super) const ADD_PIECES: &str = "
local last = tonumber(redis.call('HGET', KEYS[1], 'last') or '0')
for i = 2, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  last = math.max(last, tonumber(ARGV[i]))
end
redis.call('HSET', KEYS[1], 'last', string.format('%.0f', last))
redis.call('EXPIREAT', KEYS[1], ARGV[1])
return 0";

/// KEYS: file, chunks. ARGV: metadata, expiration time.
pub(super) const KEEP_FILE: &str = "
redis.call('SET', KEYS[1], ARGV[1])
redis.call('EXPIREAT', KEYS[1], ARGV[2])
redis.call('EXPIREAT', KEYS[2], ARGV[2])
return 0";

/// KEYS: chunks. ARGV: first number, maximum bytes, maximum range of numbers. Returns the next
/// number to read, or 0 at the end, followed by number and bytes of each chunk.
pub(super) const PIECES: &str = "
local last = tonumber(redis.call('HGET', KEYS[1], 'last') or '0')
local found, bytes, n = {0}, 0, math.max(tonumber(ARGV[1]), 1)
local bound = n + tonumber(ARGV[3])
while n <= last and n < bound and bytes < tonumber(ARGV[2]) do
  local number = string.format('%.0f', n)
  local piece = redis.call('HGET', KEYS[1], number)
  if piece then
    found[#found + 1] = number
    found[#found + 1] = piece
    bytes = bytes + #piece
  end
  n = n + 1
end
if n <= last then found[1] = string.format('%.0f', n) end
return found";

/// KEYS: file, chunks. Returns whether the file existed.
pub(super) const REMOVE_FILE: &str = "
redis.call('UNLINK', KEYS[2])
return redis.call('UNLINK', KEYS[1])";

/// KEYS: state. ARGV: request, times, expiration time.
pub(super) const BEGIN: &str = "
redis.call('HSET', KEYS[1], 'order', ARGV[1], 'status', 'validating', 'times', ARGV[2],
  'expires', ARGV[3])
redis.call('EXPIREAT', KEYS[1], ARGV[3])
return 0";

/// KEYS: state, units. ARGV: status, time, error or empty, number of rows or empty, units, whether
/// the status is final; then the statuses from which the transition is allowed. Returns whether the
/// status was changed.
pub(super) const STEP: &str = "
local status, taken = redis.call('HGET', KEYS[1], 'status'), false
for i = 7, #ARGV do taken = taken or ARGV[i] == status end
if not taken then return 0 end
local times = cjson.decode(redis.call('HGET', KEYS[1], 'times') or '[]')
times[#times + 1] = {ARGV[1], tonumber(ARGV[2])}
redis.call('HSET', KEYS[1], 'status', ARGV[1], 'times', cjson.encode(times))
if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'wrong', ARGV[3]) end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'total', ARGV[4], 'units', ARGV[5]) end
if ARGV[6] == '1' then redis.call('UNLINK', KEYS[2]) end
return 1";

/// KEYS: state, units. ARGV: numbers of units, in order. An existing unit is not added again,
/// because its id is not above the last one.
pub(super) const ADD_UNITS: &str = "
if redis.call('HGET', KEYS[1], 'status') ~= 'validating' then return 0 end
redis.pcall('XGROUP', 'CREATE', KEYS[2], 'workers', '0', 'MKSTREAM')
for i = 1, #ARGV do redis.pcall('XADD', KEYS[2], ARGV[i] .. '-0', 'u', '1') end
redis.call('EXPIREAT', KEYS[2], redis.call('HGET', KEYS[1], 'expires'))
return 0";

/// KEYS: state, units. ARGV: worker, lease in milliseconds. Returns nothing, or the id of the unit
/// and whether it was leased before. A unit can be taken over when it has been idle for
/// 1,000,000,000 ms. A claim therefore sets the idle time to that value minus its lease. Validating
/// the input is a special unit, and no other unit is available before it is complete.
pub(super) const CLAIM: &str = "
local status = redis.call('HGET', KEYS[1], 'status')
if status == 'validating' then
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local held = redis.call('HGET', KEYS[1], 'looking_until')
  if held and tonumber(held) > now then return false end
  redis.call('HSET', KEYS[1], 'looking', ARGV[1],
    'looking_until', string.format('%.0f', now + tonumber(ARGV[2])))
  return {'0-0', held and 1 or 0}
end
if status ~= 'in_progress' and status ~= 'expiring' then return false end
local function hold(id, again)
  redis.call('XCLAIM', KEYS[2], 'workers', ARGV[1], 0, id, 'IDLE', 1000000000 - ARGV[2], 'JUSTID')
  return {id, again}
end
local from = '0-0'
repeat
  local lost = redis.pcall('XAUTOCLAIM', KEYS[2], 'workers', ARGV[1], 1000000000, from, 'COUNT', 1,
    'JUSTID')
  if lost.err then return false end
  if lost[2][1] then return hold(lost[2][1], 1) end
  from = lost[1]
until from == '0-0'
local fresh = redis.call('XREADGROUP', 'GROUP', 'workers', ARGV[1], 'COUNT', 1,
  'STREAMS', KEYS[2], '>')
if not fresh then return false end
return hold(fresh[1][2][1][1], 0)";

/// KEYS: state, units. ARGV: worker, lease in milliseconds, numbers of units. Units that another
/// worker has taken over are not changed.
pub(super) const RENEW: &str = "
for i = 3, #ARGV do
  if ARGV[i] == '0' then
    if redis.call('HGET', KEYS[1], 'looking') == ARGV[1] then
      local t = redis.call('TIME')
      local now = t[1] * 1000 + math.floor(t[2] / 1000)
      redis.call('HSET', KEYS[1], 'looking_until',
        string.format('%.0f', now + tonumber(ARGV[2])))
    end
  else
    local id = ARGV[i] .. '-0'
    local own = redis.pcall('XPENDING', KEYS[2], 'workers', id, id, 1, ARGV[1])
    if not own.err and #own > 0 then
      redis.call('XCLAIM', KEYS[2], 'workers', ARGV[1], 0, id, 'IDLE', 1000000000 - ARGV[2],
        'JUSTID')
    end
  end
end
return 0";

/// KEYS: output, errors. ARGV: first and last row. Returns the rows with results.
pub(super) const ANSWERED: &str = "
local found = {}
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local row = string.format('%.0f', n)
  if redis.call('HEXISTS', KEYS[1], row) == 1 or redis.call('HEXISTS', KEYS[2], row) == 1 then
    found[#found + 1] = row
  end
end
return found";

/// KEYS: state, units, output, errors. ARGV: unit, whether it is complete, number of rows to retry,
/// time; then row, whether it failed, and line of each result. Returns the status. Results are
/// written and the unit is acknowledged in one script, so no result is lost. A row that already has
/// a result keeps it, so no result is duplicated.
pub(super) const REPORT: &str = "
local status = redis.call('HGET', KEYS[1], 'status')
if not status then return false end
if status ~= 'in_progress' and status ~= 'expiring' then return status end
local names = {{KEYS[3], KEYS[4], 'completed', 'output_bytes'}, {KEYS[4], KEYS[3], 'failed', 'error_bytes'}}
local rows, bytes, last = {0, 0}, {0, 0}, {0, 0}
for i = 5, #ARGV, 3 do
  local kind = tonumber(ARGV[i + 1]) + 1
  local own, other, row = names[kind][1], names[kind][2], ARGV[i]
  if redis.call('HEXISTS', other, row) == 0 and redis.call('HSETNX', own, row, ARGV[i + 2]) == 1 then
    rows[kind] = rows[kind] + 1
    bytes[kind] = bytes[kind] + #ARGV[i + 2]
    last[kind] = math.max(last[kind], tonumber(row))
  end
end
for kind = 1, 2 do
  if rows[kind] > 0 then
    local own = names[kind][1]
    local before = tonumber(redis.call('HGET', own, 'last') or '0')
    redis.call('HSET', own, 'last', string.format('%.0f', math.max(before, last[kind])))
    redis.call('EXPIREAT', own, redis.call('HGET', KEYS[1], 'expires'))
    redis.call('HINCRBY', KEYS[1], names[kind][3], rows[kind])
    redis.call('HINCRBY', KEYS[1], names[kind][4], bytes[kind])
  end
end
if ARGV[3] ~= '0' then redis.call('HINCRBY', KEYS[1], 'again', ARGV[3]) end
if ARGV[2] == '1' and redis.call('XACK', KEYS[2], 'workers', ARGV[1] .. '-0') == 1 then
  redis.call('XDEL', KEYS[2], ARGV[1] .. '-0')
  if redis.call('HINCRBY', KEYS[1], 'units', -1) <= 0 and status == 'in_progress' then
    status = 'finalizing'
    local times = cjson.decode(redis.call('HGET', KEYS[1], 'times') or '[]')
    times[#times + 1] = {status, tonumber(ARGV[4])}
    redis.call('HSET', KEYS[1], 'status', status, 'times', cjson.encode(times))
  end
end
return status";

/// KEYS: state, units. ARGV: worker, unit. Releases the unit for the next claim.
pub(super) const GIVE_BACK: &str = "
if ARGV[2] == '0' then
  if redis.call('HGET', KEYS[1], 'looking') == ARGV[1] then
    redis.call('HDEL', KEYS[1], 'looking_until')
  end
  return 0
end
local id = ARGV[2] .. '-0'
local own = redis.pcall('XPENDING', KEYS[2], 'workers', id, id, 1, ARGV[1])
if not own.err and #own > 0 then
  redis.call('XCLAIM', KEYS[2], 'workers', 'nobody', 0, id, 'IDLE', 1000000000, 'JUSTID')
end
return 0";
