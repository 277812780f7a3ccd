// Goal: /cache/purge and /cache/lookup ask for exactly what their parameters say, and refuse what
// is ambiguous, unknown or malformed without asking anything. Method: tables against a fake
// process.

#include <gtest/gtest.h>

#include "test/admin/parse_json.h"
#include "test/admin/still_engine.h"

namespace admin {
namespace {

struct Good {
  const char* query;
  const char* asked;
};

TEST(PurgeTest, AsksForOneUrlOrForEverything) {
  const Good rows[] = {
      {"cache=main&url=http://example.com/a", "purge main http://example.com/a"},
      {"url=http://example.com/a", "purge main http://example.com/a"},
      {"cache=main&url=https%3A%2F%2Fexample.com%3A8443%2Fc%3Fq%3D1%26r=2",
       "purge main https://example.com:8443/c?q=1&r=2"},
      {"cache=main&url=http://example.com/a+b", "purge main http://example.com/a+b"},
      {"cache=main&url=http://example.com/a&soft=1", "purge main http://example.com/a softly"},
      {"cache=main&url=http://example.com/a&soft=0", "purge main http://example.com/a"},
      {"cache=main&all=1", "purge main everything"},
      {"all=1&soft=0", "purge main everything"},
      {"cache=main&prefix=http://example.com/a/", "purge main prefix http://example.com/a/"},
      {"prefix=http://example.com&soft=1", "purge main prefix http://example.com softly"},
      {"cache=main&tag=product%201", "purge main tag product 1"},
      {"tag=a,b&soft=1", "purge main tag a,b softly"},
  };
  for (const Good& row : rows) {
    Desk desk;
    const Reply reply = desk.post("/cache/purge", row.query);
    EXPECT_EQ(reply.status, 200) << row.query;
    EXPECT_EQ(reply.body, "purged 3\n") << row.query;
    EXPECT_EQ(desk.control.asked, std::vector<std::string>{row.asked}) << row.query;
  }
}

TEST(PurgeTest, TakesParametersFromAFormToo) {
  Desk desk;
  const Reply reply =
      desk.ask("POST", "/cache/purge", "cache=main", "url=http%3A%2F%2Fexample.com%2Fa%2Bb&soft=1");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(desk.control.asked,
            std::vector<std::string>{"purge main http://example.com/a+b softly"});
}

TEST(PurgeTest, AnswersInJsonIfAsked) {
  Desk desk;
  const Json json = parseJson(desk.post("/cache/purge", "all=1&format=json").body);
  EXPECT_EQ(numberAt(json, "purged"), 3);
  EXPECT_EQ(textAt(json, "cache"), "main");
}

TEST(PurgeTest, RefusesWhatIsAmbiguousUnknownOrMalformed) {
  struct {
    const char* query;
    uint16_t status;
    const char* contains;
  } const rows[] = {
      {"", 400, "exactly one of the parameters url, prefix, tag and all=1"},
      {"cache=main", 400, "exactly one"},
      {"cache=main&url=http://example.com/a&all=1", 400, "exactly one"},
      {"cache=main&url=http://e.com/&tag=a", 400, "exactly one"},
      {"cache=main&all=2", 400, "`2` is not one of 1"},
      {"cache=main&all", 400, "`` is not one of 1"},
      {"cache=main&all=1&soft=1", 400, "parameter `soft` needs url"},
      {"cache=main&soft=2&url=http://e.com/", 400, "`2` is not one of 0, 1"},
      {"cache=main&url=", 400, "parameter `url`: it needs a value"},
      {"cache=main&url=/a", 400, "is not an absolute http or https URL"},
      {"cache=main&url=not-a-url", 400, "is not an absolute http or https URL"},
      {"cache=main&url=ftp://e.com/", 400, "is not an absolute http or https URL"},
      {"cache=main&url=http:///a", 400, "is not an absolute http or https URL"},
      {"cache=main&url=http://e.com/a%0ab", 400, "is not an absolute http or https URL"},
      {"cache=main&url=http://e.com/a%20b", 400, "is not an absolute http or https URL"},
      {"cache=main&url=%zz", 400, "parameter `url`: `%zz`"},
      {"cache=main&url=http://e.com/?a=1&b=2", 400, "unknown parameter `b`"},
      {"cache=main&url=http://e.com/&url=http://e.com/b", 400, "`url` is given twice"},
      {"cache=none&url=http://e.com/", 404, "no cache `none`; there are: main"},
      {"cache=&all=1", 400, "parameter `cache`: it needs a value"},
      {"cache=main&prefix=", 400, "parameter `prefix`: it needs a value"},
      {"cache=main&prefix=http://e.com/&tag=a", 400, "exactly one"},
      {"cache=main&prefix=/a", 400, "is not an absolute http or https URL"},
      {"cache=main&tag=", 400, "parameter `tag`: it needs a value"},
      {"cache=none&tag=a", 404, "no cache `none`"},
      {"cache=main&tag=a&tag=b", 400, "`tag` is given twice"},
  };
  for (const auto& row : rows) {
    Desk desk;
    const Reply reply = desk.post("/cache/purge", row.query);
    EXPECT_EQ(reply.status, row.status) << row.query << ": " << reply.body;
    EXPECT_NE(reply.body.find(row.contains), std::string::npos) << row.query << ": " << reply.body;
    EXPECT_TRUE(desk.control.asked.empty()) << row.query;
  }
}

TEST(PurgeTest, TheCacheMustBeNamedUnlessThereIsExactlyOne) {
  Desk desk;
  desk.control.config.caches.push_back(desk.control.config.caches[0]);
  desk.control.config.caches[1].name = "second";
  Reply reply = desk.post("/cache/purge", "all=1");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body, "parameter `cache` is missing; there are: main, second\n");
  EXPECT_EQ(desk.post("/cache/purge", "all=1&cache=second").status, 200);
  desk.control.config.caches.clear();
  reply = desk.post("/cache/purge", "all=1");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body, "parameter `cache` is missing; there are no caches\n");
}

TEST(PurgeTest, SaysWhyItFailed) {
  Desk desk;
  desk.control.next_purge = {false, "the journal cannot be written", 0};
  const Reply reply = desk.post("/cache/purge", "all=1");
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.body, "the purge failed: the journal cannot be written\n");
}

TEST(ObjectsTest, AsksForAPage) {
  Desk desk;
  cache::ListedObject object;
  object.key = "http://e.com/a";
  object.status = 200;
  object.body_bytes = 17;
  object.hits = 2;
  object.tags = "one\ntwo words";
  desk.control.next_list.objects.push_back(object);
  desk.control.next_list.next = "0.3.99.8";
  const Reply reply = desk.get("/cache/objects", "tag=one&limit=1&after=0.1.2.3");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(desk.control.asked, std::vector<std::string>{"list main one 1 0.1.2.3"});
  const Json json = parseJson(reply.body);
  EXPECT_EQ(textAt(json, "next"), "0.3.99.8");
  EXPECT_NE(reply.body.find("\"url\": \"http://e.com/a\""), std::string::npos) << reply.body;
  EXPECT_NE(reply.body.find("\"size\": 17"), std::string::npos);
  EXPECT_NE(reply.body.find("\"two words\""), std::string::npos);
}

TEST(ObjectsTest, TheLimitIsFromOneToAThousand) {
  struct {
    const char* query;
    uint16_t status;
  } const rows[] = {{"", 200},
                    {"limit=1", 200},
                    {"limit=1000", 200},
                    {"limit=0", 400},
                    {"limit=1001", 400},
                    {"limit=-1", 400},
                    {"limit=1x", 400},
                    {"limit=", 400},
                    {"limit=99999999999", 400},
                    {"prefix=/a", 400},
                    {"tag=a&prefix=http://e.com/", 400},
                    {"cache=none", 404},
                    {"prefix=http://e.com/", 200}};
  for (const auto& row : rows) {
    Desk desk;
    EXPECT_EQ(desk.get("/cache/objects", row.query).status, row.status) << row.query;
    EXPECT_EQ(desk.control.asked.size(), row.status == 200 ? 1U : 0U) << row.query;
  }
}

TEST(LookupTest, PassesTheRequestsFieldsOn) {
  Desk desk;
  const Reply reply = desk.get("/cache/lookup",
                               "cache=main&url=http://e.com/a&header=Accept-Encoding:%20gzip"
                               "&header=X-Empty:");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(
      desk.control.asked,
      std::vector<std::string>{"lookup main http://e.com/a [Accept-Encoding=gzip] [X-Empty=]"});
}

TEST(LookupTest, DescribesTheObject) {
  Desk desk;
  LookupReport& report = desk.control.next_lookup;
  report.key = "http://e.com/a";
  report.found = cache::Found::object;
  report.in_memory = true;
  report.owner_shard = 1;
  report.stripe = 7;
  report.stored_key = "http://e.com/a gzip";
  report.vary = "accept-encoding";
  report.status = 200;
  report.head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nVary: Accept-Encoding\r\n\r\n";
  report.times = {1700000000, 1700000160};  // 100 seconds before the desk's clock, 60 after it
  report.traits.set(policy::Trait::has_etag);
  report.traits.swr_s = 30;
  report.length = 5;
  report.would = "fresh";
  report.why = "none";
  const Json json = parseJson(desk.get("/cache/lookup", "url=http://e.com/a").body);
  EXPECT_TRUE(at(json, "found").bool_value());
  EXPECT_EQ(textAt(json, "where"), "memory");
  EXPECT_EQ(numberAt(json, "owner_shard"), 1);
  EXPECT_EQ(numberAt(json, "stripe"), 7);
  EXPECT_EQ(textAt(json, "variant.vary"), "accept-encoding");
  EXPECT_EQ(numberAt(json, "age_s"), 100);
  EXPECT_EQ(numberAt(json, "ttl_s"), 60);
  EXPECT_EQ(numberAt(json, "freshness_lifetime_s"), 160);
  EXPECT_EQ(textAt(json, "fresh_until"), "2023-11-14T22:16:00Z");
  EXPECT_EQ(textAt(json, "traits.0"), "has_etag");
  EXPECT_EQ(textAt(json, "headers.1.name"), "Vary");
  EXPECT_EQ(textAt(json, "headers.0.value"), "\"1\"");
  EXPECT_EQ(textAt(json, "would"), "fresh");
  report.in_memory = false;
  EXPECT_EQ(textAt(parseJson(desk.get("/cache/lookup", "url=http://e.com/a").body), "where"),
            "disk");
}

TEST(LookupTest, SaysWhyThereIsNone) {
  Desk desk;
  desk.control.next_lookup.would = "miss";
  desk.control.next_lookup.why = "absent";
  const Json json = parseJson(desk.get("/cache/lookup", "url=http://e.com/a").body);
  EXPECT_FALSE(at(json, "found").bool_value());
  EXPECT_EQ(textAt(json, "state"), "absent");
  EXPECT_EQ(textAt(json, "why"), "absent");
}

TEST(LookupTest, RefusesWhatIsMissingOrMalformed) {
  struct {
    const char* query;
    uint16_t status;
    const char* contains;
  } const rows[] = {
      {"", 400, "parameter `url` is missing"},
      {"url=/a", 400, "is not an absolute"},
      {"url=http://e.com/&cache=x", 404, "no cache `x`"},
      {"url=http://e.com/&header=NoColon", 400, "parameter `header`: `NoColon` is not Name:value"},
      {"url=http://e.com/&header=:v", 400, "is not Name:value"},
      {"url=http://e.com/&header=a%20b:v", 400, "is not Name:value"},
      {"url=http://e.com/&header=a:b%0d%0ac", 400, "is not a field value"},
  };
  for (const auto& row : rows) {
    Desk desk;
    const Reply reply = desk.get("/cache/lookup", row.query);
    EXPECT_EQ(reply.status, row.status) << row.query;
    EXPECT_NE(reply.body.find(row.contains), std::string::npos) << row.query << ": " << reply.body;
    EXPECT_TRUE(desk.control.asked.empty()) << row.query;
  }
  Desk desk;
  desk.control.next_lookup.error = "there is no such route";
  EXPECT_EQ(desk.get("/cache/lookup", "url=http://e.com/").status, 400);
}

}  // namespace
}  // namespace admin
