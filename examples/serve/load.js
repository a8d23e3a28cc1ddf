// Load by k6: half known users, half sessions of three items, at a fixed rate, with what must hold.
//   k6 run -e RATE=500 load.js
import http from "k6/http";
import { check } from "k6";

const users = open("users.txt").trim().split("\n");
const items = open("items.txt").trim().split("\n");
const headers = { "content-type": "application/json" };
if (__ENV.TOKEN) headers.authorization = `Bearer ${__ENV.TOKEN}`;

export const options = {
  scenarios: {
    steady: { executor: "constant-arrival-rate", rate: Number(__ENV.RATE || 200), duration: "60s", preAllocatedVUs: 64 },
  },
  thresholds: { http_req_failed: ["rate<0.001"], http_req_duration: ["p(99)<100"] },
};

const any = (list) => list[Math.floor(Math.random() * list.length)];

export default function () {
  const question = Math.random() < 0.5 ? { user: any(users) } : { items: [any(items), any(items), any(items)] };
  const answer = http.post(`${__ENV.URL || "http://127.0.0.1:8000"}/v1/recommend`, JSON.stringify(question), { headers });
  check(answer, { "a list": (one) => one.status === 200 && one.json("items").length > 0 });
}
