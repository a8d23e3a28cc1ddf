-- Load by wrk: lists of users whose ids are in users.txt, a line each.
--   wrk -t 2 -c 64 -d 30s --latency -s load.lua http://127.0.0.1:8000/v1/recommend
-- TOKEN in the environment is sent where the service wants one.
local users = {}
for line in io.lines("users.txt") do
  users[#users + 1] = line
end
local headers = { ["content-type"] = "application/json" }
if os.getenv("TOKEN") then
  headers["authorization"] = "Bearer " .. os.getenv("TOKEN")
end

request = function()
  local user = users[math.random(#users)]:gsub('[\\"]', "\\%0")
  return wrk.format("POST", nil, headers, '{"user": "' .. user .. '", "n": 10}')
end
